"""The wheel that users install must hold every module and data file of the five linked folders."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("envs", "wrappers", "tasks", "baselines", "sandbox")


def packaged_files() -> set[str]:
    """Every file under version control that belongs in the wheel, by its path there."""
    listed = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "--", "agentenv", *ROOMS],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    paths = [path for path in listed if (ROOT / path).is_file() and not path.endswith(".md")]
    return {path if path.startswith("agentenv/") else f"agentenv/{path}" for path in paths}


@pytest.mark.slow
def test_wheel_holds_every_module_and_data_file(tmp_path: Path) -> None:
    source = tmp_path / "source"
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(ROOT), str(source)], check=True)
    # The work tree may be ahead of the last commit: lay it over the clone.
    for path in subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True
    ).stdout.splitlines():
        origin, target = ROOT / path, source / path
        if origin.is_file() and not origin.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(origin.read_bytes())
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w"]
    subprocess.run([*command, str(tmp_path / "dist"), str(source)], check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("agentenv_gym-*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    missing = sorted(packaged_files() - inside)
    assert not missing, f"the wheel lacks {missing}"
    assert any(name.endswith("licenses/LICENSE") for name in inside)
    assert not [name for name in inside if name.split("/")[0] in ROOMS], "rooms must not become top-level packages"
