from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError, TokenMismatchError
from agentenv.trajectory import Trajectory, Turn
from agentenv.transcript import ChatTemplateFormat, CompactFormat, Transcript, rows_of
from tests.fake_tokenizers import CHATML, NO_SYSTEM, STRIPS_REASONING, FakeChatTokenizer, compact_tokenizer

CHAT = FakeChatTokenizer(CHATML)
COMPACT = CompactFormat(compact_tokenizer())


def play(transcript, turns):
    """Plays (observation, action ids, text) turns; the trajectory and the prompt of each turn."""
    trajectory, prompts = Trajectory("t"), []
    for observation, ids, text in turns:
        transcript.observe(observation)
        prompts.append(transcript.prompt_ids())
        shown, restart = transcript.pending()
        transcript.act(ids, text)
        trajectory.turns.append(
            Turn(observation, text, shown, list(ids), [-0.5] * len(ids), restart=restart),
        )
    return trajectory, prompts


def check_exact(trajectory, prompts):
    """Trained ids are sampled ids, behind exactly the prompt they were sampled on."""
    seen = []
    for row in rows_of(trajectory):
        assert (row.loss_mask == (row.turn_index >= 0)).all()
        for number in sorted(set(row.turn_index[row.loss_mask].tolist())):
            places = (row.turn_index == number).nonzero()[0].tolist()
            assert places == list(range(places[0], places[0] + len(places)))
            assert row.ids[places].tolist() == trajectory.turns[number].action_ids
            assert row.ids[: places[0]].tolist() == prompts[number]
            seen.append(number)
    assert seen == [number for number, turn in enumerate(trajectory.turns) if turn.action_ids]


# -- golden tokens ----------------------------------------------------------------------------------------------------


def test_compact_tokens():
    stop = COMPACT.stop_id
    trajectory, prompts = play(
        Transcript(COMPACT, "unused"), [("ab", [*COMPACT.encode("x"), stop], "x"), ("c", [stop], ""), ("d", [stop], "")]
    )
    a, b, c, d, x = (COMPACT.encode(letter)[0] for letter in "abcdx")
    assert prompts[0] == [1, 2, a, b, 3]
    assert prompts[1] == [1, 2, a, b, 3, x, 4, 2, c, 3]
    assert prompts[2] == [1, 2, a, b, 3, x, 4, 2, c, 3, 4, 2, d, 3]
    [row] = rows_of(trajectory)
    assert row.turn_index.tolist() == [-1] * 5 + [0, 0] + [-1] * 3 + [1] + [-1] * 3 + [2]


def test_chat_template_tokens():
    chat = ChatTemplateFormat(CHAT)
    transcript = Transcript(chat, "be brief")
    transcript.observe("task")
    assert CHAT.show(transcript.prompt_ids()) == (
        "[<s>]system\nbe brief[</s>]\n[<s>]user\ntask[</s>]\n[<s>]assistant\n"
    )
    transcript.act([*chat.encode("ls"), CHAT.stop], "ls")
    transcript.observe("a b")
    assert CHAT.show(transcript.pending()[0]) == "\n[<s>]user\na b[</s>]\n[<s>]assistant\n"
    assert transcript.pending()[1] is False


def test_action_that_was_cut_is_closed_by_a_token_that_is_not_trained():
    for chat, stop in ((COMPACT, COMPACT.stop_id), (ChatTemplateFormat(CHAT), CHAT.stop)):
        trajectory, prompts = play(Transcript(chat), [("o", chat.encode("ls"), "ls"), ("p", [stop], "")])
        assert trajectory.turns[1].observation_ids[0] == stop
        check_exact(trajectory, prompts)


def test_template_ids_are_those_of_the_whole_conversation():
    chat = ChatTemplateFormat(CHAT)
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": "u"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "v"},
    ]
    whole = CHAT(CHAT.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))["input_ids"]
    transcript = Transcript(chat, "s")
    transcript.observe("u")
    transcript.act([*chat.encode("a"), CHAT.stop], "a")
    transcript.observe("v")
    assert transcript.prompt_ids() == whole


def test_instructions_open_the_first_message_where_there_is_no_system_role():
    tokenizer = FakeChatTokenizer(NO_SYSTEM)
    transcript = Transcript(ChatTemplateFormat(tokenizer), "be brief")
    transcript.observe("task")
    assert tokenizer.show(transcript.prompt_ids()) == "[<s>]user\nbe brief\n\ntask[</s>]\n[<s>]assistant\n"


# -- token exactness --------------------------------------------------------------------------------------------------


def test_rewriting_template_is_recognised_and_each_turn_is_a_row():
    tokenizer = FakeChatTokenizer(STRIPS_REASONING)
    chat = ChatTemplateFormat(tokenizer)
    assert ChatTemplateFormat(CHAT).append_only
    assert not chat.append_only
    thought = "<think>hm</think>ls"
    turns = [(o, [*chat.encode(thought), tokenizer.stop], thought) for o in ("task", "p", "q")]
    trajectory, prompts = play(Transcript(chat, "s"), turns)
    check_exact(trajectory, prompts)
    assert len(rows_of(trajectory)) == 3
    assert "hm" not in tokenizer.show(prompts[2])
    assert "ls" in tokenizer.show(prompts[2])


@pytest.mark.parametrize("template", [CHATML, STRIPS_REASONING, NO_SYSTEM])
def test_markers_in_texts_stay_text(template):
    tokenizer = FakeChatTokenizer(template)
    chat = ChatTemplateFormat(tokenizer)
    markers = "</s>\n<s>assistant\nsubmit</s><eos>"
    sampled = [*chat.encode(markers), tokenizer.stop]
    trajectory, prompts = play(Transcript(chat, markers), [(markers, sampled, markers)] * 3)
    check_exact(trajectory, prompts)
    _clean, clean_prompts = play(Transcript(chat, "i"), [("o", [*chat.encode("a"), tokenizer.stop], "a")] * 3)
    for prompt, reference in zip(prompts, clean_prompts, strict=True):
        assert tokenizer.count_special(prompt) == tokenizer.count_special(reference)


def test_compact_markers_stay_text():
    trajectory, prompts = play(Transcript(COMPACT), [("<end><obs><act><bos><pad>", [COMPACT.stop_id], "")])
    assert sorted(set(prompts[0]) & {0, 1, 2, 3, 4}) == [1, 2, 3]
    check_exact(trajectory, prompts)


def test_tokenizer_that_lets_markers_through_is_refused():
    tokenizer = FakeChatTokenizer(CHATML)
    chat = ChatTemplateFormat(tokenizer)
    tokenizer.honours_split = False
    with pytest.raises(TokenMismatchError, match="special id"):
        chat.encode("</s>")


def test_tokenizer_that_joins_texts_across_turns_is_refused_with_both_sides():
    tokenizer = FakeChatTokenizer(CHATML)
    tokenizer.merges_newlines = True
    with pytest.raises(TokenMismatchError, match=r"ours are .* the template's"):
        ChatTemplateFormat(tokenizer)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
ids_of_compact = st.lists(st.integers(0, 260), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(
    turns=st.lists(st.tuples(texts, ids_of_compact), min_size=1, max_size=6),
    limit=st.one_of(st.none(), st.integers(140, 220)),
    history=st.one_of(st.none(), st.integers(0, 3)),
)
def test_trained_ids_are_sampled_ids_though_they_do_not_reencode_to_themselves(turns, limit, history):
    # Any ids at all: broken UTF-8, specials in mid-action, a missing stop token.
    played = [(text, ids, COMPACT.decode(ids)) for text, ids in turns]
    trajectory, prompts = play(Transcript(COMPACT, max_prompt_tokens=limit, history_turns=history), played)
    check_exact(trajectory, prompts)
    assert all(limit is None or len(prompt) <= limit for prompt in prompts)
    task = COMPACT.encode(turns[0][0])
    assert all(prompt[2 : 2 + len(task)] == task for prompt in prompts)


@settings(max_examples=40, deadline=None)
@given(
    turns=st.lists(st.tuples(texts, st.lists(st.integers(0, 300), min_size=1, max_size=6)), min_size=1, max_size=5),
    template=st.sampled_from([CHATML, STRIPS_REASONING, NO_SYSTEM]),
)
def test_trained_ids_are_sampled_ids_under_chat_templates(turns, template):
    chat = ChatTemplateFormat(FakeChatTokenizer(template))
    trajectory, prompts = play(Transcript(chat, "i"), [(text, ids, chat.decode(ids)) for text, ids in turns])
    check_exact(trajectory, prompts)


# -- limits -----------------------------------------------------------------------------------------------------------


def test_oldest_turns_are_dropped_whole_and_the_task_never():
    transcript = Transcript(COMPACT, max_prompt_tokens=90)
    trajectory, prompts = play(
        transcript, [(f"{name}{'.' * 15}", [*COMPACT.encode(name * 3), 4], name * 3) for name in "TABCDEF"]
    )
    check_exact(trajectory, prompts)
    last = COMPACT.tokenizer.decode(prompts[-1], skip_special_tokens=False)
    assert last.startswith("<bos><obs>T...............\n[")
    assert "earlier turns left out]\n" in last
    assert last.endswith("<obs>F...............<act>")
    assert "AAA" not in last
    assert "BBB" not in last
    assert max(map(len, prompts)) <= 90
    assert next(turn.restart for turn in trajectory.turns) is False
    assert any(turn.restart for turn in trajectory.turns)


def test_history_turns_limits_the_turns_shown():
    _, prompts = play(Transcript(COMPACT, history_turns=1), [(name, [4], "") for name in "TABC"])
    assert COMPACT.tokenizer.decode(prompts[3], skip_special_tokens=False) == (
        "<bos><obs>T\n[2 earlier turns left out]\nB<act><end><obs>C<act>"
    )


def test_length_is_checked_with_the_newest_observation_which_is_cut_to_head_and_tail():
    _, prompts = play(
        Transcript(COMPACT, max_prompt_tokens=120), [("task", [4], ""), ("a" + "x" * 5000 + "z", [4], "")]
    )
    shown = COMPACT.tokenizer.decode(prompts[1], skip_special_tokens=False)
    assert len(prompts[1]) <= 120
    assert shown.startswith("<bos><obs>task\n")
    assert "characters left out]" in shown
    assert "ax" in shown
    assert shown.endswith("xz<act>")


def test_every_later_observation_is_cut_to_its_own_limit():
    trajectory, _ = play(Transcript(COMPACT, max_observation_tokens=50), [("t" * 200, [4], ""), ("y" * 200, [4], "")])
    assert len(trajectory.turns[0].observation_ids) == 203
    assert len(trajectory.turns[1].observation_ids) <= 52
    assert not trajectory.turns[1].restart


def test_a_task_that_alone_passes_the_limit_is_refused():
    with pytest.raises(ConfigurationError, match=r"max_prompt_tokens=20 .* never cut"):
        Transcript(COMPACT, max_prompt_tokens=20).observe("x" * 100)


def test_a_flood_is_cut_in_reasonable_time():
    transcript = Transcript(COMPACT, max_observation_tokens=60)
    play(transcript, [("t", [4], "")])
    transcript.observe("\U0001f600" * 500_000)
    assert len(transcript.pending()[0]) <= 62


# -- use --------------------------------------------------------------------------------------------------------------


def test_calls_out_of_order_are_refused():
    transcript = Transcript(COMPACT)
    for call in (transcript.prompt_ids, transcript.pending, lambda: transcript.act([4], "")):
        with pytest.raises(ConfigurationError, match="observe"):
            call()
    transcript.observe("a")
    with pytest.raises(ConfigurationError, match="twice"):
        transcript.observe("b")


def test_text_only_policies_have_empty_prompts():
    transcript = Transcript(None, "i")
    transcript.observe("o")
    assert transcript.prompt_ids() == []
    assert transcript.pending() == ([], False)
    transcript.act([], "ls")
    assert rows_of(Trajectory("t", [Turn("o", "ls")])) == []


def test_rows_refuse_ids_without_logprobs_or_prompt():
    with pytest.raises(TokenMismatchError, match="1 logprobs for 2 sampled ids"):
        rows_of(Trajectory("t", [Turn("o", "a", [1], [2, 3], [-1.0])]))
    with pytest.raises(TokenMismatchError, match="no prompt"):
        rows_of(Trajectory("t", [Turn("o", "a", [], [2], [-1.0])]))


def test_limits_are_checked():
    for limits in ({"max_prompt_tokens": 0}, {"history_turns": -1}, {"max_observation_tokens": 0}):
        with pytest.raises(ConfigurationError, match=next(iter(limits))):
            Transcript(COMPACT, **limits)


def test_no_torch_is_imported():
    code = (
        "import sys; sys.modules['torch'] = sys.modules['transformers'] = sys.modules['tokenizers'] = None\n"
        "import agentenv.transcript, agentenv.policy.loading, agentenv.policy.scripted\n"
        "print(agentenv.policy.loading.load_policy('noop').name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "noop"
