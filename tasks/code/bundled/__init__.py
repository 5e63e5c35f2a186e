"""Bundled Python tasks: text files by category, the reader of them, and the tools that keep them honest."""

from __future__ import annotations

from agentenv.tasks.code.bundled.loading import BundledTasks

__all__ = ["BundledTasks"]
