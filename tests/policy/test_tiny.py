from __future__ import annotations

import numpy as np
import pytest
import torch

from agentenv.errors import ConfigurationError, InfrastructureError
from agentenv.policy import Policy, Prompt, Sampling
from agentenv.policy.tiny import TinyPolicy
from agentenv.policy.tiny_model import TinyConfig
from agentenv.trajectory import Trajectory, Turn
from agentenv.transcript import Transcript, rows_of
from tests.policy.tiny_policies import random_policy


def prompts(count, seed=0, low=3, high=40):
    rng = np.random.default_rng(seed)
    return [
        Prompt(f"e{index}", ids=rng.integers(5, 261, size=int(rng.integers(low, high))).tolist(), seed=100 + index)
        for index in range(count)
    ]


def training_logprobs(policy, context, ids, temperature=1.0):
    whole = torch.tensor([[*context, *ids]])
    with torch.no_grad():
        logits = policy.model(whole[:, :-1])[0] / temperature
    return torch.log_softmax(logits, -1).gather(1, whole[0, 1:, None])[len(context) - 1 :, 0]


def test_is_a_policy():
    assert isinstance(random_policy(), Policy)


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_logprobs_are_those_of_the_training_forward_over_turns(temperature):
    policy = random_policy()
    sampling = Sampling(temperature, max_tokens=9)
    rng = np.random.default_rng(1)
    contexts = [list(prompt.ids) for prompt in prompts(7)]
    for turn in range(3):
        asked = [Prompt(f"e{i}", ids=ids, seed=10 * turn + i) for i, ids in enumerate(contexts)]
        samples = policy.act(asked, sampling)
        for context, sample in zip(contexts, samples, strict=True):
            expected = training_logprobs(policy, context, sample.ids, temperature)
            np.testing.assert_allclose(sample.logprobs, expected, atol=1e-4)
        contexts = [
            [*context, *sample.ids, *rng.integers(5, 261, size=int(rng.integers(1, 12))).tolist()]
            for context, sample in zip(contexts, samples, strict=True)
        ]


def test_kept_cache_changes_nothing():
    policy, fresh = random_policy(), random_policy()
    sampling = Sampling(max_tokens=8)
    first = prompts(5)
    for prompt, sample in zip(first, policy.act(first, sampling), strict=True):
        following = Prompt(prompt.key, ids=[*prompt.ids, *sample.ids, 2, 50, 3], seed=7)
        kept, anew = policy.act([following], sampling)[0], fresh.act([following], sampling)[0]
        assert kept.ids == anew.ids
        np.testing.assert_allclose(kept.logprobs, anew.logprobs, atol=1e-5)
        fresh.release([prompt.key])


def test_cache_of_another_context_is_not_used():
    policy, fresh = random_policy(), random_policy()
    sampling = Sampling(max_tokens=8)
    policy.act([Prompt("e", ids=list(range(10, 60)), seed=1)], sampling)
    other = Prompt("e", ids=[*range(10, 20), *range(90, 120)], seed=1)
    kept, anew = policy.act([other], sampling)[0], fresh.act([other], sampling)[0]
    assert kept.ids == anew.ids
    np.testing.assert_allclose(kept.logprobs, anew.logprobs, atol=1e-5)


def test_no_cache_outlives_a_change_of_the_weights():
    policy = random_policy()
    [prompt], sampling = prompts(1), Sampling(max_tokens=6)
    [before] = policy.act([prompt], sampling)
    with torch.no_grad():
        for weight in policy.model.parameters():
            weight.add_(0.05 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(3)))
    policy.weights_changed()
    assert policy.version == 1
    context = [*prompt.ids, *before.ids]
    [after] = policy.act([Prompt(prompt.key, ids=context, seed=2)], sampling)
    np.testing.assert_allclose(after.logprobs, training_logprobs(policy, context, after.ids), atol=1e-4)


def test_samples_do_not_depend_on_the_batch_though_rows_leave_it():
    many = prompts(12)
    sampling = Sampling(max_tokens=16)
    together = random_policy().act(many, sampling)
    alone = [random_policy().act([prompt], sampling)[0] for prompt in many]
    small = random_policy(max_batch=5).act(many, sampling)
    assert len({len(sample.ids) for sample in together}) > 3
    assert [s.ids for s in together] == [s.ids for s in alone] == [s.ids for s in small]


def test_seeds_decide_samples():
    policy, sampling = random_policy(), Sampling(max_tokens=8)
    ids = [1, 2, 50, 3]
    one, again, other = policy.act([Prompt(k, ids=ids, seed=s) for k, s in (("a", 1), ("b", 1), ("c", 2))], sampling)
    assert one.ids == again.ids != other.ids


def test_greedy_takes_the_most_probable_token_with_logprob_zero():
    policy = random_policy()
    [prompt] = prompts(1)
    [sample] = policy.act([prompt], Sampling(temperature=0, max_tokens=5))
    context = list(prompt.ids)
    for token in sample.ids:
        assert token == int(policy.model(torch.tensor([context]))[0, -1].argmax())
        context.append(token)
    assert set(sample.logprobs) == {0.0}


def test_stop_token_ends_a_row_and_is_left_out_of_the_text():
    policy = random_policy()
    samples = policy.act(prompts(40, high=8), Sampling(max_tokens=12))
    stopped = [sample for sample in samples if sample.stop_reason == "stop"]
    cut = [sample for sample in samples if sample.stop_reason == "length"]
    assert stopped
    assert cut
    for sample in stopped:
        assert sample.ids[-1] == policy.stop_id
        assert list(sample.ids).count(policy.stop_id) == 1
        assert sample.text == policy.format.tokenizer.decode(list(sample.ids[:-1]), skip_special_tokens=False)
    assert all(len(sample.ids) == 12 and policy.stop_id not in sample.ids for sample in cut)


def test_an_episode_trains_on_what_was_sampled_and_gradient_is_zero_elsewhere():
    policy = random_policy()
    transcript, trajectory = Transcript(policy.format, max_prompt_tokens=150), Trajectory("t")
    for number, observation in enumerate(["task <end>", "out <obs>", "x" * 60, "y"]):
        transcript.observe(observation)
        shown, restart = transcript.pending()
        [sample] = policy.act([Prompt("e", ids=transcript.prompt_ids(), seed=number)], Sampling(max_tokens=12))
        transcript.act(sample.ids, sample.text)
        trajectory.turns.append(
            Turn(observation, sample.text, shown, list(sample.ids), list(sample.logprobs), restart=restart)
        )
    for row in rows_of(trajectory):
        ids = torch.from_numpy(row.ids)[None]
        logits = policy.model(ids[:, :-1])
        logits.retain_grad()
        logprobs = torch.log_softmax(logits, -1).gather(2, ids[:, 1:, None])[0, :, 0]
        mask = torch.from_numpy(row.loss_mask)[1:]
        np.testing.assert_allclose(logprobs[mask].detach(), row.logprobs[1:][mask.numpy()], atol=1e-4)
        torch.where(mask, logprobs, 0.0).sum().backward()
        assert bool((logits.grad[0, ~mask] == 0).all())
        assert bool((logits.grad[0, mask] != 0).any(-1).all())


def test_padding_on_the_right_changes_nothing():
    policy = random_policy()
    ids = torch.tensor([[1, 2, 60, 61, 3, 70]])
    padded = torch.cat([ids, torch.zeros(1, 5, dtype=torch.long)], dim=1)
    torch.testing.assert_close(policy.model(padded)[:, :6], policy.model(ids))


def test_caches_are_bounded():
    policy = random_policy(max_kept_tokens=60)
    policy.act(prompts(12, low=10, high=20), Sampling(max_tokens=2))
    assert sum(len(kept.ids) for kept in policy._kept.values()) <= 60
    policy.release([f"e{index}" for index in range(12)])
    assert not policy._kept


def test_weights_that_are_not_finite_are_the_platforms_fault():
    policy = random_policy()
    with torch.no_grad():
        policy.model.model.norm.weight.fill_(float("nan"))
    with pytest.raises(InfrastructureError, match="not finite"):
        policy.act(prompts(2), Sampling())


def test_prompts_that_cannot_be_answered_are_refused():
    policy = random_policy()
    with pytest.raises(ConfigurationError, match="no ids"):
        policy.act([Prompt("e")], Sampling())
    with pytest.raises(ConfigurationError, match="2048 positions"):
        policy.act([Prompt("e", ids=[5] * 2040)], Sampling(max_tokens=20))
    assert policy.act([], Sampling()) == []


@pytest.mark.parametrize("wrong", [{"temperature": -1}, {"temperature": float("nan")}, {"max_tokens": 0}])
def test_settings_that_no_policy_can_sample_with_are_refused(wrong):
    with pytest.raises(ConfigurationError):
        Sampling(**wrong)


def test_the_longest_prompt_that_fits_is_answered():
    [sample] = random_policy().act([Prompt("e", ids=[5] * 2044)], Sampling(max_tokens=4))
    assert 1 <= len(sample.ids) <= 4


def test_saved_policy_acts_the_same(tmp_path):
    policy = random_policy()
    policy.save(tmp_path)
    many, sampling = prompts(4), Sampling(max_tokens=8)
    assert TinyPolicy.load(tmp_path).act(many, sampling) == policy.act(many, sampling)


def test_half_precision_file_is_half_as_large(tmp_path):
    policy = random_policy()
    policy.save(tmp_path / "full")
    policy.save(tmp_path / "half", half=True)
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("full", "half")]
    assert sizes[1] < 0.6 * sizes[0]
    loaded = TinyPolicy.load(tmp_path / "half").model
    assert {weight.dtype for weight in loaded.parameters()} == {torch.float32}


def test_directory_without_a_policy_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="no tiny policy"):
        TinyPolicy.load(tmp_path / "missing")
    random_policy().save(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    with pytest.raises(ConfigurationError, match=r"tokenizer\.json"):
        TinyPolicy.load(tmp_path)


def test_heads_must_divide_the_width():
    with pytest.raises(ConfigurationError, match="hidden_size=30"):
        TinyConfig(hidden_size=30, num_attention_heads=4)


def test_transformers_computes_the_same_logits_and_ids(tmp_path):
    transformers = pytest.importorskip("transformers")
    policy = random_policy()
    policy.save(tmp_path)
    model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32).eval()
    ids = torch.randint(5, 261, (3, 40), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        torch.testing.assert_close(model(ids).logits, policy.model(ids), atol=1e-4, rtol=1e-4)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    text = "ls -la ünï <x>\n"
    assert tokenizer(text, add_special_tokens=False)["input_ids"] == policy.format.encode(text)


def test_prompts_that_fit_alone_fit_together():
    policy = random_policy()
    limit = policy.model.config.max_position_embeddings
    rng = np.random.default_rng(3)
    long = rng.integers(5, 261, size=limit - 40).tolist()
    [first] = policy.act([Prompt("long", ids=long, seed=1)], Sampling(1.0, max_tokens=4))
    batch = [Prompt("long", ids=[*long, *first.ids, 7], seed=2)]
    batch += [Prompt(f"new{size}", ids=rng.integers(5, 261, size=size).tolist(), seed=size) for size in (30, 100, 300)]
    for prompt, sample in zip(batch, policy.act(batch, Sampling(1.0, max_tokens=4)), strict=True):
        expected = training_logprobs(policy, prompt.ids, sample.ids)
        assert torch.allclose(torch.tensor(sample.logprobs).float(), expected, atol=1e-4)
