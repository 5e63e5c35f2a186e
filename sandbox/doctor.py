"""Tells what this machine can enforce, and how. Invariant: every line was tried, not assumed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from agentenv.errors import InfrastructureError
from agentenv.sandbox import bwrap
from agentenv.sandbox.isolation.limits import controllers, enforcement
from agentenv.sandbox.registry import host_root

__all__ = ["Fact", "facts"]


@dataclass(frozen=True)
class Fact:
    """One line: what, whether it is there, and how."""

    name: str
    ok: bool
    detail: str


def facts(root: Path | None = None) -> list[Fact]:
    """What `agentenv doctor` prints about the local sandbox.

    >>> [fact.name for fact in facts()][:2]
    ['user', 'isolation']
    """
    user = "root (sandboxes run as users of their own)" if os.getuid() == 0 else f"uid {os.getuid()}"
    found = [Fact("user", True, user)]
    try:
        place = host_root(root)
        tool = bwrap.find(place)
    except InfrastructureError as fault:
        found.append(Fact("isolation", False, str(fault)))
        return found
    found.append(Fact("isolation", True, f"bubblewrap {tool.version} ({tool.path})"))
    layers = "overlay" if tool.overlay else "plain copies (bubblewrap 0.11 would bring overlays)"
    found.append(Fact("large start states", tool.overlay, layers))
    groups = controllers()
    names = ", ".join(sorted(groups.parents)) or "none writable"
    found.append(
        Fact("control groups", bool(groups.parents), f"v{groups.version}: {names}" if groups.version else names)
    )
    found.append(Fact("files", True, os.fspath(place)))
    found += [Fact(f"limit {name}", bool(how), how or "not enforceable") for name, how in enforcement().items()]
    return found
