"""The action grammar: what counts, what is refused and why, in time linear in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.envs.code.actions import Edit, Invalid, Run, Submit, Test, Write, parse

ONE, MANY = ("main.py",), ("a.py", "b.py")
LARGE = 1 << 20


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('<write path="a.py">x = 1</write>', Write("a.py", "x = 1")),
        ('<write path="a.py">\nx = 1\n</write>', Write("a.py", "x = 1\n")),
        ("<write path='a b/c.py'>\n\n</write>", Write("a b/c.py", "\n")),
        ('<write path="/workspace/a.py">x</write>', Write("a.py", "x")),
        ('<write path="./a.py">x</write>', Write("a.py", "x")),
        ('<write path="a.py"></write>', Write("a.py", "")),
        ('<write path="a.py"><run>ls</run></write>', Write("a.py", "<run>ls</run>")),
        ('I call <test/> later. <write path="a.py">x</write>', Test()),
        ("<test />", Test()),
        ("done <submit/>", Submit()),
        ("<run>ls\necho</run><submit/>", Run("ls\necho")),
        (
            '<edit path="a.py"><find>\n  x\n</find>\n<replace>\n  y\n</replace></edit>',
            Edit("a.py", "  x", "  y"),
        ),
        ('<edit path="a.py"><find>x</find><replace></replace></edit>', Edit("a.py", "x", "")),
        ("```python\nx = 1\n```\nthat is all", Write("main.py", "x = 1\n")),
        ("````\n```\n````", Write("main.py", "```\n")),
        ('```\n<write path="b.py">x</write>\n```', Write("b.py", "x")),
        ("```xml\n<run>ls</run>\n```", Run("ls")),
        ("```html\n<testing>\n```", Write("main.py", "<testing>\n")),
        ("```python\nopen\n<run>ls</run>", Run("ls")),
    ],
)
def test_the_first_complete_action_counts(reply: str, expected: object) -> None:
    assert parse(reply, ONE) == expected


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "no action"),
        ("just words", "no action"),
        ('<write path="a.py">x', "not closed"),
        ("<run>ls", "not closed"),
        ('<write path="a.py"><write path="b.py">x</write></write>', "opened twice"),
        ("<run>a<run>b</run>", "opened twice"),
        ("<run> \n</run>", "empty"),
        ("<write>x</write>", "needs a path"),
        ('<write path="">x</write>', "path is empty"),
        ('<write path="a.py" mode="7">x</write>', "needs a path"),
        ('<write path="../a.py">x</write>', "leaves the workspace"),
        ('<write path="a/../../b.py">x</write>', "leaves the workspace"),
        ('<write path="/etc/passwd">x</write>', "leaves the workspace"),
        ('<write path="/workspace/../etc/passwd">x</write>', "leaves the workspace"),
        ('<write path="/workspace">x</write>', "names a folder"),
        ('<write path=".">x</write>', "names a folder"),
        ('<write path="a/">x</write>', "names a folder"),
        (f'<write path="{"a" * 256}">x</write>', "too long"),
        (f'<write path="{"a/" * 600}b">x</write>', "too long"),
        ('<write path="a\u202eb">x</write>', "cannot be printed"),
        ('<write path="a\x07">x</write>', "cannot be printed"),
        ('<write path="a.py">\0</write>', "NUL"),
        ('<edit path="a.py">x</edit>', "must hold one <find>"),
        ('<edit path="a.py"><find>x</find></edit>', "must hold one <find>"),
        ('<edit path="a.py"><find></find><replace>y</replace></edit>', "<find> is empty"),
        (
            '<edit path="a.py"><find>x</find><replace>y</replace><find>z</find><replace>w</replace></edit>',
            "must hold one",
        ),
        ('<edit path="../a"><find>x</find><replace>y</replace></edit>', "leaves the workspace"),
        ("```python\nx = 1\n```", "no action"),
    ],
)
def test_what_is_no_action_tells_why(reply: str, reason: str) -> None:
    found = parse(reply, MANY)
    assert isinstance(found, Invalid)
    assert reason in found.reason
    assert len(found.reason) < 300


@pytest.mark.parametrize(
    "piece",
    ["<write ", "<run>", "```py\n", "````a\n```b\n", '<edit path="', "<find>", "x", '<write path="a">', "<<<", "\n"],
)
def test_a_megabyte_of_anything_is_answered(piece: str) -> None:
    flood = piece * (LARGE // len(piece))
    assert isinstance(parse(flood, ONE), Invalid)
    assert parse(f"<submit/>{flood}", ONE) == Submit()


def test_an_edit_of_a_megabyte_of_tags_is_answered() -> None:
    for piece in ("</find><replace>", "<find></find>", "<find>", "</replace>"):
        assert isinstance(parse(f'<edit path="a">{piece * (LARGE // len(piece))}</edit>', ONE), Invalid)


PIECES = st.sampled_from(["<", ">", "/", "```", "\n", "run", "write", "edit", "find", "replace", ' path="a"', "x"])


@given(st.lists(PIECES))
def test_any_text_is_an_action_or_a_reason(pieces: list[str]) -> None:
    found = parse("".join(pieces), ONE)
    assert isinstance(found, (Write, Edit, Run, Test, Submit)) or found.reason


@given(st.text().filter(lambda text: "\0" not in text and "</write>" not in text and "<write" not in text))
def test_a_written_text_arrives_whole(text: str) -> None:
    assert parse(f'<write path="a.py">\n{text}</write>', MANY) == Write("a.py", text)
