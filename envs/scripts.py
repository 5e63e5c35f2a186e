"""The agents without a model of each environment (`agentenv.scripts`): no-op, random, and sensible but careless.

The careless ones do the obvious thing once and believe what comes first. An environment that they solve is too easy to
tell care from haste, and one in which they get nothing has no first step to learn from.
"""

from __future__ import annotations

import re

import numpy as np

from agentenv.scripts import Scripts, some_words

__all__ = ["CODE", "SEARCH", "TERMINAL", "WEBSHOP"]

_COMMANDS = (
    "ls",
    "cat",
    "touch",
    "mkdir -p",
    "rm -rf",
    "cp -r",
    "mv",
    "chmod 600",
    "echo",
    "sort",
    "grep -rn",
    "ln -s",
)
_NAME = re.compile(r"[A-Z][\w'’-]*(?: (?:(?:of|the) )*[A-Z][\w'’-]*)*")
_YEAR = re.compile(r"\b[12]\d{3}\b")
_YES_OR_NO = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can) ", re.IGNORECASE)
_SHOWN_ID = re.compile(r"^\[([^\]]+)\]", re.MULTILINE)
_PIECES = re.compile(r"\[(?:SEP|(?:clicked )?button_?)\]|<[^>]*>|[\[\]\n]", re.IGNORECASE)
_ASIN = re.compile(r"\bb0[0-9a-z]{8}\b", re.IGNORECASE)


def _shell_at_random(observation: str, rng: np.random.Generator) -> str:
    """Commands that exist with words of the observation; `submit` one time in eight."""
    if rng.random() < 1 / 8:
        return "submit"
    return " ".join([_COMMANDS[int(rng.integers(len(_COMMANDS)))], *some_words(observation, rng)])


def _search_at_random(observation: str, rng: np.random.Generator) -> str:
    """A search for words of the observation, a document it shows, or, one time in eight, an answer of its words."""
    chance, words = rng.random(), " ".join(some_words(observation, rng))
    shown = _SHOWN_ID.findall(observation)
    if chance < 1 / 8:
        return f"<answer>{words}</answer>"
    if chance < 1 / 2 and shown:
        return f"<open>{shown[int(rng.integers(len(shown)))]}</open>"
    return f"<search>{words}</search>"


def _search_carelessly(first: str, latest: str) -> str:
    """Searches for the whole question, and answers with what the first passage has of the kind asked for."""
    question = first.removeprefix("Question: ")
    if not latest.startswith("<information>"):
        return f"<search>{question}</search>"
    title, text = [*latest.splitlines()[1:3], "", ""][:2]
    return f"<answer>{_hasty_answer(question, _SHOWN_ID.sub('', title).strip(), text)}</answer>"


def _hasty_answer(question: str, title: str, text: str) -> str:
    lower = question.lower()
    if lower.startswith("how many"):
        return "2"
    if _YES_OR_NO.match(question):
        return "yes"
    if "year" in lower or lower.startswith("when"):
        return ([title, *_YEAR.findall(text)])[-1]
    names = [name for name in _NAME.findall(text) if name.lower() not in lower]
    return [title, *names][-1]


def _shop_at_random(observation: str, rng: np.random.Generator) -> str:
    """A click on anything that stands on the page, or, one time in four, a search for words on it."""
    pieces = [piece.strip() for piece in _PIECES.split(observation) if piece.strip()]
    if rng.random() < 1 / 4 or not pieces:
        return f"search[{' '.join(some_words(observation, rng))}]"
    return f"click[{pieces[int(rng.integers(len(pieces)))].lower()}]"


def _shop_carelessly(first: str, latest: str) -> str:
    """Searches for the instruction's words, and buys the first result as it is."""
    if "buy now" in latest.lower():
        return "click[buy now]"
    if found := _ASIN.search(latest):
        return f"click[{found[0].lower()}]"
    return f"search[{max(_PIECES.split(first), key=len).strip()}]"


def _code_at_random(observation: str, rng: np.random.Generator) -> str:
    """A command that exists with words of the observation, the public tests, or, one time in eight, the end."""
    chance = rng.random()
    if chance < 1 / 8:
        return "<submit/>"
    return "<test/>" if chance < 1 / 4 else f"<run>{_shell_at_random(observation, rng)}</run>"


CODE = Scripts("<submit/>", _code_at_random)
TERMINAL = Scripts("submit", _shell_at_random)
SEARCH = Scripts("<answer></answer>", _search_at_random, _search_carelessly)
WEBSHOP = Scripts("", _shop_at_random, _shop_carelessly)
