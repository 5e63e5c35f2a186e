"""The final check of a Coq proof: `coqc` on the whole file, in a fresh sandbox. Invariant: the axioms are asked last.

The file is the header, the original statement, the proof (tactics only) and `Qed`; then the statement under a new name
that nobody could know when the proof was written, proved by the theorem, and `Print Assumptions` of it. Only what Coq
prints after that name is read.
"""

from __future__ import annotations

import re
import secrets

from agentenv.envs.theorem.provers.base import Verdict
from agentenv.envs.theorem.provers.rocq_top import FINDLIB, LIMITS, VARIABLES
from agentenv.errors import DataFileError, InfrastructureError
from agentenv.sandbox.base import Completed, FileEntry
from agentenv.sandbox.local import LocalSandbox
from agentenv.tasks.theorem.base import Statement

__all__ = ["STANDARD_AXIOMS", "check_file"]

# Axioms of Coq's standard library that its theories of reals, sets and functions rest on.
STANDARD_AXIOMS = frozenset(
    {
        "classic",
        "constructive_definite_description",
        "constructive_indefinite_description",
        "eq_rect_eq",
        "functional_extensionality_dep",
        "proof_irrelevance",
        "propositional_extensionality",
        "sig_forall_dec",
        "sig_not_dec",
    }
)
_DECLARED = re.compile(
    r"^\s*(?:Axioms?|Parameters?|Conjecture|Hypothes[ie]s|Variables?)\s+([\w' ]+?)\s*:", re.MULTILINE
)
_STATES = re.compile(r"\s*(Theorem|Lemma|Fact|Remark|Corollary|Proposition|Property|Example)\s+([\w']+)")
_AXIOM = re.compile(r"^(\S+)\s*:", re.MULTILINE)
_ERROR = re.compile(r'File "[^"]*", line \d+, characters \d+-\d+:\s*(Error:.*)', re.DOTALL)
_CHECK_S = 120.0
_MISSING = 127
_MESSAGE_CHARS = 1000


def check_file(statement: Statement, proof: str) -> Verdict:
    """Checks an assembled file.

    Raises:
        DataFileError: If the statement is not one that Coq can state.
        InfrastructureError: If Coq fails on the statement alone, too, or is not installed.
    """
    name = f"agentenv_{secrets.token_hex(8)}"
    done = _compile(assembled(statement, proof, name))
    output = done.stdout.decode("utf-8", "replace")
    errors = done.stderr.decode("utf-8", "replace")
    if done.exit_code == 0:
        return _assumptions(statement, output, name)
    if done.timed_out:
        return Verdict(False, f"the check of the whole proof ran out of time ({_CHECK_S:g} s)")
    said = _ERROR.search(errors)
    if said is not None and "Anomaly" not in errors:
        return Verdict(False, said.group(1).strip()[:_MESSAGE_CHARS])
    alone = _compile(f"{statement.header}\n{statement.text}\nAbort.\n")
    if alone.exit_code != 0:
        missing = " (Debian: apt-get install coq)" if alone.exit_code == _MISSING else ""
        raise InfrastructureError(f"coqc failed{missing}: {alone.stderr.decode('utf-8', 'replace').strip()[-300:]}")
    return Verdict(False, "Coq ended abnormally on the whole proof (out of memory or stack)")


def assembled(statement: Statement, proof: str, name: str) -> str:
    """The file that is compiled."""
    states = _STATES.match(statement.text)
    if states is None or states.group(2) != statement.name:
        raise DataFileError(f"{statement.text[:80]!r} does not state {statement.name!r} as a theorem")
    again = f"{states.group(1)} {name}_{statement.text[states.start(2) :]}"
    return (
        f"{statement.header}\n{statement.text}\nProof.\n{proof}\nQed.\n"
        f"{again}\nProof. exact (@{statement.name}). Qed.\n"
        f"Locate {name}_{statement.name}.\nPrint Assumptions {name}_{statement.name}.\n"
    )


def _compile(text: str) -> Completed:
    with LocalSandbox(LIMITS) as box:
        box.start([FINDLIB, FileEntry("proof.v", text.encode("utf-8"))])
        return box.run(["coqc", "-q", "-noglob", "-w", "none", "proof.v"], timeout_s=_CHECK_S, env=VARIABLES)


def _assumptions(statement: Statement, output: str, name: str) -> Verdict:
    at = output.find(f"{name}_{statement.name}")
    if at < 0:
        return Verdict(False, "the proof ended the file before its axioms could be asked for")
    said = output[at:].partition("\n")[2].strip()
    if "Closed under the global context" in said:
        return Verdict(True)
    if not said.startswith("Axioms:"):
        return Verdict(False, f"Coq says of its assumptions: {said[:_MESSAGE_CHARS]}")
    axioms = tuple(_AXIOM.findall(said.split("Axioms:", 1)[1]))
    declared = {word for found in _DECLARED.finditer(statement.header) for word in found.group(1).split()}
    foreign = [one for one in axioms if one.rsplit(".", 1)[-1] not in STANDARD_AXIOMS | declared]
    if foreign or not axioms:
        return Verdict(False, f"it depends on {', '.join(foreign) or said}", axioms)
    return Verdict(True, axioms=axioms)
