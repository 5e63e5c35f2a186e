"""The bundled Rocq files: real Coq accepts every proof, and none rests on an axiom."""

from __future__ import annotations

import re
import shutil
import subprocess
from importlib import resources
from pathlib import Path

import pytest

FOLDER = Path(str(resources.files("agentenv.tasks.theorem.rocq_bundled")))
FILES = sorted(path.name for path in FOLDER.glob("*.v"))
_NAME = re.compile(r"^(?:Theorem|Lemma) (\w+)", re.MULTILINE)
LEAST = 60


def names(text: str) -> list[str]:
    return _NAME.findall(text)


def test_there_are_enough_and_names_differ() -> None:
    found = [name for file in FILES for name in names((FOLDER / file).read_text())]
    assert len(found) == len(set(found)) >= LEAST


@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed (Debian's package coq has it)")
@pytest.mark.parametrize("file", FILES)
def test_coq_accepts_every_proof_without_axioms(file: str, tmp_path: Path) -> None:
    text = (FOLDER / file).read_text()
    asked = "\n".join(f"Print Assumptions {name}." for name in names(text))
    (tmp_path / file).write_text(f"{text}\n{asked}\n")
    done = subprocess.run(["coqc", file], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n").count("Closed under the global context") == len(names(text))
