"""Runs tests as a user without any powers, when the tests themselves were started by root."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

_UID = 23456


def run_as_plain_user(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs pytest on these arguments; skips where that user cannot run this Python."""
    interpreter = _reachable_python()
    if interpreter is None:
        pytest.skip("no Python of this version that another user can run")
    # Not tmp_path: pytest keeps the directories above it to root.
    home = Path(tempfile.mkdtemp(prefix="agentenv-plain-user-"))
    os.chown(home, _UID, _UID)
    repository = Path(__file__).resolve().parents[2]
    try:
        return subprocess.run(
            [interpreter, "-m", "pytest", *arguments, "-q", "-p", "no:cacheprovider", "--tb=short"],
            cwd=repository,
            user=_UID,
            group=_UID,
            extra_groups=[],
            env={"PATH": "/usr/bin:/bin", "HOME": str(home), "TMPDIR": str(home), "PYTHONDONTWRITEBYTECODE": "1",
                 "PYTHONPATH": os.pathsep.join([str(repository), *(p for p in sys.path if "site-packages" in p)])},
            capture_output=True,
            text=True,
            timeout=800,
            check=False,
        )  # fmt: skip
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _reachable_python() -> str | None:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (sys.executable, shutil.which(version, path="/usr/local/bin:/usr/bin:/bin")):
        if path and all(place.stat().st_mode & 0o001 for place in Path(path).resolve().parents):
            return path
    return None
