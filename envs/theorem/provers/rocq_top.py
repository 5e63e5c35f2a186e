r"""`coqtop -emacs` in a sandbox. Invariant: what is read as Coq's own answer cannot be written by a tactic.

Every sentence is followed by a question for a name that nobody can know, so that the end of its output is recognised
whatever it printed, a prompt or an error message included. Whether it was accepted is told by the number in the prompt
that follows that question, and by nothing else.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

import pexpect

from agentenv.envs.theorem.provers.boxed import BoxedProgram
from agentenv.errors import AgentEnvError, InfrastructureError
from agentenv.sandbox.base import FileEntry, Limits

__all__ = ["FINDLIB", "LIMITS", "VARIABLES", "Answer", "Coqtop", "ProverGoneError"]

LIMITS = Limits(wall_s=60.0, memory_bytes=2 << 30, processes=16, file_bytes=64 << 20, disk_bytes=128 << 20)
# Debian's findlib reads its own file below /etc, which sandboxes do not have.
FINDLIB = FileEntry(".findlib.conf", b'destdir="/usr/lib/ocaml"\npath="/usr/local/lib/ocaml:/usr/lib/ocaml"\n')
VARIABLES = {"OCAMLFIND_CONF": "/workspace/.findlib.conf"}
_PROMPT = re.compile(r"<prompt>[^<]* < (\d+) \|[^|]*\| \d+ < </prompt>")
_PLACE = re.compile(r"Toplevel input, characters (\d+)-\d+:\n(?:> .*\n)*")
_MARKUP = re.compile(r"</?(?:infomsg|warning)>")
_START_S = 60.0
_SETTINGS = "Set Printing Unfocused. Set Printing Width 400. Set Printing Depth 100."


class ProverGoneError(AgentEnvError):
    """The process ended or hung; whose fault it is, the caller finds out. `hung` tells which."""

    def __init__(self, hung: bool) -> None:
        super().__init__("coqtop hung" if hung else "coqtop ended")
        self.hung = hung


@dataclass(frozen=True)
class Answer:
    """What Coq said to one sentence.

    Args:
        output: All that was printed.
        state: The number of the state after it.
        accepted: Whether that is another state than before it.
        at: Where in the sentence the error lies, in characters; 0 if it does not tell.
        message: The error's text.
    """

    output: str
    state: int
    accepted: bool
    at: int = 0
    message: str = ""


class Coqtop:
    """One process.

    Raises:
        InfrastructureError: If it cannot be started.
    """

    def __init__(self) -> None:
        self._box = BoxedProgram(["coqtop", "-q", "-emacs", "-w", "none"], LIMITS, [FINDLIB], VARIABLES)
        self.sentences = 0
        self.state = 0
        try:
            self.ask([_SETTINGS], _START_S)
        except ProverGoneError as fault:
            said = (self._box.channel.before or b"").decode("utf-8", "replace").strip()[-300:]
            self.close()
            raise InfrastructureError(f"coqtop (Debian: package coq) cannot be started: {said or fault}") from fault

    @property
    def resident_bytes(self) -> int:
        """Memory of the process now."""
        return self._box.resident_bytes

    def ask(self, sentences: list[str], timeout_s: float) -> list[Answer]:
        """Sends sentences and reads their answers.

        Raises:
            ProverGoneError: If the process ends or does not answer in time.
        """
        names = [f"agentenv_{secrets.token_hex(8)}" for _ in sentences]
        lines = "".join(f"{one}\nCheck {name}.\n" for one, name in zip(sentences, names, strict=True))
        self.sentences += len(sentences)
        answers: list[Answer] = []
        try:
            self._box.channel.send(lines.encode("utf-8"))
            for sentence, name in zip(sentences, names, strict=True):
                missing = rf"The\s+reference\s+{name}\s+was\s+not\s+found\s+in\s+the\s+current\s+environment\."
                prompt = rb"\s*<prompt>[^<]* < (\d+) \|[^|]*\| \d+ < </prompt>"
                self._box.channel.expect(missing.encode() + prompt, timeout=timeout_s)
                shown = (self._box.channel.before or b"").decode("utf-8", "replace")
                before, self.state = self.state, int(self._box.channel.match[1])  # type: ignore[index]
                answers.append(_answer(sentence, shown, self.state, self.state != before, name))
        except pexpect.TIMEOUT as fault:
            raise ProverGoneError(hung=True) from fault
        except (pexpect.EOF, OSError) as fault:
            raise ProverGoneError(hung=False) from fault
        return answers

    def close(self) -> None:
        """Ends it; idempotent."""
        self._box.close()


def _answer(sentence: str, shown: str, state: int, accepted: bool, name: str) -> Answer:
    # What comes last belongs to our own question.
    asked = shown.rfind("Toplevel input, characters")
    if asked >= 0 and name in shown[asked:]:
        shown = shown[:asked]
    output = _MARKUP.sub("", _PROMPT.sub("", shown)).strip("\n")
    place = _PLACE.search(output)
    error = re.search(r"^Error:\s*", output, re.MULTILINE)
    if error is None:
        return Answer(output, state, accepted)
    at = 0
    if place is not None:
        at = len(sentence.encode("utf-8")[: int(place.group(1))].decode("utf-8", "replace"))
    return Answer(output, state, accepted, at, output[error.end() :].strip())
