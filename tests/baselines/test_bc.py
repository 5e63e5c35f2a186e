from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import pytest
import torch

from agentenv.baselines import bc
from agentenv.env import AgentEnv, Reply
from agentenv.errors import ConfigurationError, UnknownTaskError
from agentenv.policy import Prompt, Sampling
from agentenv.policy.tiny import TinyPolicy
from agentenv.progress import Check
from agentenv.task import GraderData, Task, TaskSet
from agentenv.transcript import CompactFormat, Transcript
from tests.fake_tokenizers import compact_tokenizer

WORDS = ("red", "blue", "green", "black", "white", "brown")


class Echoes(TaskSet):
    """Say the word, then submit. The oracle of a task named in `broken` is wrong."""

    name = "echoes"
    fingerprint = "echoes-1"
    broken = ()

    def ids(self, split):
        return [f"{word}-{split}" for word in WORDS] if split == "train" else []

    def task(self, task_id):
        if task_id not in self.ids("train"):
            raise UnknownTaskError(task_id)
        return Task(task_id, f"Say {task_id.split('-')[0]}.", {})

    def grader(self, task_id):
        word = task_id.split("-")[0]
        return GraderData([Check("said", 1, lambda said: float(said == [word]))])

    def oracle(self, task_id):
        word = task_id.split("-")[0]
        return [f"say {'nothing' if word in self.broken else word}", "submit"]

    def alternatives(self, task_id):
        return [["say nothing", *self.oracle(task_id)[:0], "clear", *self.oracle(task_id)]]


class EchoEnv(AgentEnv):
    def __init__(self, split="train", families=None, difficulty=None, max_turns=4, broken=()):
        tasks = Echoes()
        tasks.broken = broken
        super().__init__(tasks, split=split, max_turns=max_turns)

    def begin(self, task, rng):
        self.said, self.current = [], task
        return task.instruction

    def act(self, action):
        if action == "submit":
            return Reply("bye", done=True, stop_reason="submitted")
        self.said = [] if action == "clear" else [*self.said, action.removeprefix("say ")]
        return Reply("ok")

    def checks(self):
        return self.task_set.grader(self.current.id).checks

    def hash_state(self):
        return repr(self.said)

    def view(self):
        return self.said

    def save(self):
        return list(self.said)

    def load(self, saved):
        self.said = list(saved)


@pytest.fixture(autouse=True)
def registered():
    gym.register("test/Echo-v0", EchoEnv, disable_env_checker=True)
    gym.register("test/BrokenEcho-v0", EchoEnv, kwargs={"broken": ("red", "blue")}, disable_env_checker=True)
    gym.register("test/HopelessEcho-v0", EchoEnv, kwargs={"broken": WORDS}, disable_env_checker=True)
    yield
    for name in ("Echo", "BrokenEcho", "HopelessEcho"):
        gym.registry.pop(f"test/{name}-v0")


def small(tmp_path, **changes):
    values = {
        "out": tmp_path / "run",
        "env": "test/Echo-v0",
        "difficulties": ("easy",),
        "demos": 6,
        "steps": 4,
        "batch_tokens": 128,
        "vocabulary": 300,
        "width": 16,
        "layers": 1,
        "heads": 2,
        "workers": 2,
    }
    return bc.Args(**{**values, **changes})


def test_demonstrations_are_episodes_of_the_real_environment_and_are_kept(tmp_path, monkeypatch):
    args = small(tmp_path)
    args.out.mkdir()
    demos = bc.demonstrations(args)
    assert [demo.task_id for demo in demos] == [f"{word}-train" for word in WORDS]
    assert [(turn.observation, turn.action) for turn in demos[0].turns] == [("Say red.", "say red"), ("ok", "submit")]
    assert all(demo.success for demo in demos)
    monkeypatch.setattr(bc, "_play", None)
    assert bc.demonstrations(args) == demos


def test_demonstrations_of_other_arguments_are_not_mixed_up(tmp_path):
    args = small(tmp_path)
    args.out.mkdir()
    bc.demonstrations(args)
    assert len(bc.demonstrations(small(tmp_path, demos=2))) == 2
    assert len(bc.demonstrations(small(tmp_path, alternatives=1.0))[0].turns) == 4


def test_demonstrations_that_fail_are_left_out(tmp_path):
    args = small(tmp_path, env="test/BrokenEcho-v0")
    args.out.mkdir()
    assert [demo.task_id for demo in bc.demonstrations(args)] == [f"{word}-train" for word in WORDS[2:]]
    hopeless = small(tmp_path, env="test/HopelessEcho-v0")
    with pytest.raises(ConfigurationError, match="no demonstration"):
        bc.demonstrations(hopeless)


def test_training_changes_every_weight_and_repeats_under_a_seed(tmp_path):
    first = TinyPolicy.load(bc.main(small(tmp_path / "a", half=False))).model.state_dict()
    again = TinyPolicy.load(bc.main(small(tmp_path / "b", half=False))).model.state_dict()
    other = TinyPolicy.load(bc.main(small(tmp_path / "c", half=False, seed=2))).model.state_dict()
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not any(torch.equal(first[name], other[name]) for name in first if "norm" not in name)


def test_metrics_and_arguments_are_recorded(tmp_path):
    directory = bc.main(small(tmp_path))
    lines = [json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [0, 3]
    assert {"losses/action_nll", "losses/token_accuracy", "losses/grad_norm"} <= set(lines[0])
    record = json.loads((directory / "training.json").read_text())
    assert record["steps"] == 4
    assert str(tmp_path) not in json.dumps(record)


def test_tokenizer_encodes_any_text_and_a_name_alike_everywhere():
    texts = ["cp data/report.txt archive/report.txt", "Copy report.txt"] * 50
    chat = CompactFormat(bc.train_tokenizer(iter(texts), 300))
    for text in ("ünï\x00\U0001f600 \t\n  x", "<end><obs>", "日本"):
        assert chat.decode(chat.encode(text)) == text
    name = chat.encode("report")
    for text in ("report.txt", " report", "/report/", "a report"):
        ids = chat.encode(text)
        assert any(ids[at : at + len(name)] == name for at in range(len(ids)))


def test_tokenizer_does_not_depend_on_the_process():
    texts = ["mkdir -p alpha/beta", "touch alpha/beta/gamma.txt"] * 20
    assert bc.train_tokenizer(iter(texts), 290).to_str() == bc.train_tokenizer(iter(texts), 290).to_str()


def test_loss_is_on_action_tokens_with_their_stop_token(tmp_path):
    args = small(tmp_path)
    args.out.mkdir()
    chat = CompactFormat(compact_tokenizer())
    [row, *_] = bc.demonstration_rows(args, chat, bc.demonstrations(args))
    trained = row.ids[row.loss_mask].tolist()
    assert trained == [*chat.encode("say red"), chat.stop_id, *chat.encode("submit"), chat.stop_id]


def test_copying_rows_taper_off(tmp_path):
    args = small(tmp_path, steps=400, copy_until=0.5)
    args.out.mkdir()
    chat = CompactFormat(compact_tokenizer())
    rows = bc.demonstration_rows(args, chat, bc.demonstrations(args))
    demonstrated = {tuple(row.ids.tolist()) for row in rows}
    feed = bc.batches(args, chat, rows, 261)
    copies = [tuple(next(feed)[0][0].tolist()) not in demonstrated for _ in range(300)]
    assert sum(copies[:50]) > sum(copies[100:150]) > 0
    assert not any(copies[200:])


def test_copying_rows_show_tokens_twice_and_train_the_second_showing():
    chat = CompactFormat(compact_tokenizer())
    for ids, mask in bc.copying_batch(np.random.default_rng(0), bc.Args(), chat, 261, 20):
        middle = ids.tolist().index(chat.act_id)
        assert ids[2:middle].tolist() == ids[middle + 1 : -1].tolist()
        assert mask.tolist() == [False] * (middle + 1) + [True] * (middle - 1)


@pytest.mark.slow
def test_the_policy_learns_its_demonstrations(tmp_path):
    args = small(tmp_path, steps=150, copy_share=0.0, lr=1e-2, width=32)
    policy = TinyPolicy.load(bc.main(args))
    right = 0
    for demo in bc.demonstrations(args):
        transcript = Transcript(policy.format)
        transcript.observe(demo.turns[0].observation)
        [sample] = policy.act([Prompt("e", ids=transcript.prompt_ids())], Sampling(temperature=0, max_tokens=20))
        right += sample.text == demo.turns[0].action
    assert right == len(WORDS)
