"""Policies: whatever turns a prompt into an action. Engines are loaded by name, so that torch stays optional."""

from agentenv.policy.base import Policy, Prompt, Sample, Sampling

__all__ = ["Policy", "Prompt", "Sample", "Sampling"]
