"""Settings of the whole suite: hypothesis never fails a test for being slow, and draws the same cases everywhere."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("agentenv", deadline=None, derandomize=True)
settings.load_profile("agentenv")
