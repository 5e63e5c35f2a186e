"""Action parsing: the first complete action wins, hostile text is an invalid action in linear time."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.actions import ACTION_FORMATS, InvalidAction, parse_action, parser
from agentenv.errors import ConfigurationError

FENCE = "```"


@pytest.mark.parametrize(
    ("format", "text", "action"),
    [
        ("raw", "  ls -l\n", "  ls -l\n"),
        ("raw", "", ""),
        ("fenced", f"{FENCE}bash\nls\n{FENCE}", "ls"),
        ("fenced", f"Sure!\n{FENCE}\ncat <<X\na\n\nX\n{FENCE}\nDone. {FENCE}rm{FENCE}", "cat <<X\na\n\nX"),
        ("fenced", f"{FENCE}\nfirst\n{FENCE}\n{FENCE}\nsecond\n{FENCE}", "first"),
        ("fenced", f"{FENCE}\n{FENCE}", ""),
        ("fenced", f"Not {FENCE}rm{FENCE} but\n{FENCE}sh\nls\n{FENCE}", "ls"),
        ("fenced", f"`{FENCE}\ncat <<X\n{FENCE}\nX\n`{FENCE}", f"cat <<X\n{FENCE}\nX"),
        ("fenced", f"  {FENCE}bash  \r\nls\n  {FENCE}\r", "ls"),
        ("xml", "<action>ls</action>", "ls"),
        ("xml", "<action>\necho '<b>'\n</action> <action>rm</action>", "echo '<b>'"),
        ("json", 'Call: {"name": "t", "arguments": {"action": "ls"}} {"name": "t"}', "ls"),
        ("json", 'set {x} {"name": "t", "arguments": {"action": "echo {}"}}', "echo {}"),
        ("react", "Thought: hm\nAction: ls -l\nObservation: 3 files", "ls -l"),
        ("react", "Action:\nfor i in 1 2; do\n  echo $i\ndone\nThought: x", "for i in 1 2; do\n  echo $i\ndone"),
        ("react", "Action: a\nAction: b", "a"),
    ],
)
def test_the_first_complete_action_is_taken(format: str, text: str, action: str) -> None:
    assert parse_action(text, format).action == action


@pytest.mark.parametrize(
    ("format", "text", "reason"),
    [
        ("fenced", "ls", "no fenced block"),
        ("fenced", f"{FENCE}bash\nls", "not closed"),
        ("xml", "ls", "no <action>"),
        ("xml", "<action>ls", "not closed"),
        ("xml", "</action>ls<action>", "not closed"),
        ("xml", "I use <action> now. <action>ls</action>", "opened twice"),
        ("fenced", f"`{FENCE}\nls\n{FENCE}", "not closed"),
        ("json", "ls", "no JSON object"),
        ("json", '{"name": "t", "arguments": {"action": "x", "action": "y"}}', "twice"),
        ("json", '{"name": "t", "arguments": ["x"]}', "object 'arguments'"),
        ("json", '{"name": "t", "arguments": {"cmd": "x"}}', "needs a string 'action'"),
        ("json", '{"n": ' + "1" * 5000 + "}", "cannot be read"),
        ("json", '{"name": "t", "name": "u", "arguments": {}}', "twice"),
        ("json", '{"name": "t", "arguments": {"action": 3}}', "needs a string"),
        ("json", '{"name": 3, "arguments": {"action": "x"}}', "string 'name'"),
        ("json", '{"name": "t", "arguments": {"action": "x"', "cannot be read"),
        ("json", '{"name": NaN, "arguments": {}}', "not JSON"),
        ("json", '{"a":' * 100_000, "cannot be read"),
        ("react", "Thought: only", "no line"),
        ("react", "Action:\nObservation: x", "empty"),
    ],
)
def test_anything_else_has_a_reason_and_the_valid_form(format: str, text: str, reason: str) -> None:
    parsed = parse_action(text, format)
    assert parsed.action is None
    assert reason in parsed.reason
    assert "Reply with" in parsed.reason
    assert len(parsed.reason) < 400


def test_a_json_call_of_another_tool_is_refused() -> None:
    text = '{"name": "other", "arguments": {"cmd": "ls"}}'
    assert parse_action(text, "json", tool="terminal", argument="cmd").action is None
    assert parse_action(text, "json", tool="other", argument="cmd").action == "ls"


@given(st.sampled_from(ACTION_FORMATS), st.text())
def test_no_text_raises(format: str, text: str) -> None:
    parsed = parse_action(text, format)
    assert (parsed.action is None) == bool(parsed.reason)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_wrapped_action_comes_back_as_it_was(action: str) -> None:
    if "</action>" not in action:
        assert parse_action(f"<action>\n{action}\n</action>", "xml").action == action
    if not any(line.strip().startswith(FENCE) for line in action.split("\n")):
        assert parse_action(f"{FENCE}\n{action}\n{FENCE}", "fenced").action == action


@pytest.mark.parametrize("unit", [FENCE + "\n", "<action>", "{", '{"', "Action:\n", "[", "`", "</action>", '{"a":{'])
def test_a_megabyte_of_half_open_markers_is_answered(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    for format in ACTION_FORMATS:
        parse_action(text, format)


def test_bad_configurations_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="fenced"):
        parser("fence")
    with pytest.raises(ConfigurationError, match="tag"):
        parser("xml", tag="a b>")


def test_an_invalid_action_is_an_empty_string_with_a_reason() -> None:
    action = pickle.loads(pickle.dumps(InvalidAction("why")))
    assert (str(action), action.reason) == ("", "why")
