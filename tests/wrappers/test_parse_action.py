"""`ParseAction` plays what the text holds; a text that holds no action is an invalid action."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenv.actions import ACTION_FORMATS, InvalidAction
from agentenv.env import AgentEnv
from agentenv.errors import ConfigurationError
from agentenv.wrappers import ParseAction
from tests.helpers.keys import KeysEnv
from tests.helpers.replay import Beat, ReplayEnv

SAID = {
    "raw": "set a 1",
    "fenced": "I set it.\n```text\nset a 1\n```\nIt printed a=1. Then:\n```\nset a 2\n```",
    "xml": "I set it. <action>set a 1</action><observation>a=1</observation><action>set a 2</action>",
    "json": 'Calling {"name": "keys", "arguments": {"action": "set a 1"}}\nResult: {"ok": true}',
    "react": "Thought: set it\nAction: set a 1\nObservation: a=1\nAction: set a 2",
}


def started(format: str, **kwargs: int) -> tuple[ParseAction, KeysEnv]:
    inner = KeysEnv(**kwargs)
    env = ParseAction(inner, format=format)
    env.reset(seed=0)
    return env, inner


@pytest.mark.parametrize("format", ACTION_FORMATS)
def test_only_the_first_action_is_played_and_fake_tool_output_is_not(format: str) -> None:
    env, inner = started(format)
    observation, _, _, _, info = env.step(SAID[format])
    assert (observation, inner.state) == ("a=1", {"a": "1"})
    assert (info["valid_action"], info["parsed_action"], info["turn"]) == (True, "set a 1", 1)


@pytest.mark.parametrize("format", [name for name in ACTION_FORMATS if name != "raw"])
def test_a_text_without_an_action_costs_a_turn_and_tells_the_form(format: str) -> None:
    env, inner = started(format, max_turns=2)
    before = inner.step("set a 1")[4]
    observation, reward, terminated, truncated, info = env.step("set a 2")
    assert observation.startswith("Invalid action: ")
    assert "Reply with" in observation
    assert (reward, info["valid_action"], info["parsed_action"]) == (0.0, False, "")
    assert (inner.state, info["state_hash"]) == ({"a": "1"}, before["state_hash"])
    assert (info["turn"], terminated, truncated, info["stop_reason"]) == (2, False, True, "max_turns")


def test_the_form_told_names_the_tag_and_the_tool() -> None:
    env = ParseAction(KeysEnv(), format="xml", tag="bash")
    env.reset(seed=0)
    assert "<bash>the action</bash>" in env.step("x")[0]
    env = ParseAction(KeysEnv(), format="json", tool="keys", argument="command")
    env.reset(seed=0)
    assert '{"name": "keys", "arguments": {"command": "the action"}}' in env.step("x")[0]


def test_the_same_keys_are_in_every_info() -> None:
    env = ParseAction(KeysEnv(), format="xml")
    _, info = env.reset(seed=0)
    assert set(info) == set(env.step("x")[4]) == set(env.step("<action>submit</action>")[4])


def test_a_third_party_environment_gets_an_empty_string_for_an_invalid_action() -> None:
    inner = ReplayEnv([Beat(0.0)] * 2)
    env = ParseAction(inner, format="xml")
    env.reset()
    env.step("no tag")
    assert inner.actions == [""]
    assert isinstance(inner.actions[0], InvalidAction)


HOSTILE = st.one_of(
    st.text(),
    st.lists(st.sampled_from(["```", "```sh", "\n", "<action>", "</action>", "{", '"name":', "Action:", "\ud800"])).map(
        "".join
    ),
)


@settings(deadline=None)
@given(st.sampled_from(ACTION_FORMATS), HOSTILE)
def test_no_text_whatever_raises_or_leaves_the_observation_space(format: str, text: str) -> None:
    env, inner = started(format)
    observation, reward, *_ = env.step(text)
    assert isinstance(inner, AgentEnv)
    assert observation in inner.observation_space
    assert reward == 0.0


def test_surrogates_inside_a_complete_action_are_refused_by_the_environment() -> None:
    env, inner = started("json")
    _, _, _, _, info = env.step(r'{"name": "keys", "arguments": {"action": "set a \ud800"}}')
    assert (info["valid_action"], inner.state) == (False, {})


def test_bad_configurations_are_refused_when_made() -> None:
    with pytest.raises(ConfigurationError, match="Did you mean 'fenced'"):
        ParseAction(KeysEnv(), format="fence")
    with pytest.raises(ConfigurationError, match="tag"):
        ParseAction(KeysEnv(), format="xml", tag="")
