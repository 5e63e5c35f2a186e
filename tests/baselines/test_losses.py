from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from agentenv.baselines.losses import gather_logprobs, k1, k3, kl_loss, masked_average, ppo_clip_loss
from agentenv.errors import ConfigurationError
from agentenv.policy.tiny_model import TinyConfig, TinyLM

ROUGH = [math.nan, math.inf, -math.inf, 1e30]


def _random(seed: int = 0, rows: int = 3, length: int = 7) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    new = -torch.rand(rows, length, generator=generator, dtype=torch.float64) * 3
    old = new + torch.randn(rows, length, generator=generator, dtype=torch.float64) * 0.3
    advantages = torch.randn(rows, length, generator=generator, dtype=torch.float64)
    mask = torch.rand(rows, length, generator=generator) < 0.6
    mask[0] = False  # a row without any sampled token
    mask[1, 0] = True
    return new.requires_grad_(), old, advantages, mask


def _naive_ppo(new: Tensor, old: Tensor, advantages: Tensor, mask: Tensor, average: str) -> Tensor:
    rows = []
    for row in range(len(new)):
        terms = [
            -min(
                (torch.exp(new[row, t] - old[row, t]) * advantages[row, t]),
                torch.clamp(torch.exp(new[row, t] - old[row, t]), 0.8, 1.3) * advantages[row, t],
            )
            for t in range(new.shape[1])
            if mask[row, t]
        ]
        if terms:
            rows.append(torch.stack(terms))
    if average == "token":
        return torch.cat(rows).mean()
    return torch.stack([row.mean() for row in rows]).mean()


@pytest.mark.parametrize("average", ["token", "sequence"])
@pytest.mark.parametrize("seed", range(4))
def test_ppo_clip_equals_the_naive_formula_in_value_and_gradient(average: str, seed: int) -> None:
    new, old, advantages, mask = _random(seed)
    loss, metrics = ppo_clip_loss(new, old, advantages, mask, clip_low=0.2, clip_high=0.3, average=average)  # type: ignore[arg-type]
    naive = _naive_ppo(new, old, advantages, mask, average)
    assert loss.item() == pytest.approx(naive.item())
    [gradient] = torch.autograd.grad(loss, new)
    [expected] = torch.autograd.grad(naive, new)
    assert torch.allclose(gradient, expected)
    assert metrics["policy_loss"] == loss.item()


@settings(max_examples=40)
@given(data=st.data())
def test_what_stands_at_masked_positions_never_matters(data: st.DataObject) -> None:
    new, old, advantages, mask = _random(1)
    rough = torch.tensor(data.draw(st.lists(st.sampled_from(ROUGH), min_size=21, max_size=21)), dtype=torch.float64)
    rough = rough.reshape(3, 7)
    results = []
    for spoil in (False, True):

        def spoilt(x: Tensor, spoil: bool = spoil) -> Tensor:
            return torch.where(mask, x.detach(), rough) if spoil else x.detach().clone()

        leaf = spoilt(new).requires_grad_()
        policy, metrics = ppo_clip_loss(leaf, spoilt(old), spoilt(advantages), mask)
        kl, kl_metrics = kl_loss(leaf, spoilt(old), mask)
        [gradient] = torch.autograd.grad(policy + kl, leaf)
        results.append((policy.item(), kl.item(), gradient, {**metrics, **kl_metrics}))
    assert results[0][:2] == results[1][:2]
    assert torch.equal(results[0][2], results[1][2])
    assert results[0][3] == results[1][3]
    assert (results[1][2][~mask] == 0).all()


def test_pieces_of_a_batch_add_up_to_the_whole() -> None:
    new, old, advantages, mask = _random(2)
    for average, weight in (("token", float(mask.sum())), ("sequence", float(mask.any(1).sum()))):
        whole, _ = ppo_clip_loss(new, old, advantages, mask, average=average)  # type: ignore[arg-type]
        parts = [
            ppo_clip_loss(new[r : r + 1], old[r : r + 1], advantages[r : r + 1], mask[r : r + 1],
                          average=average, weight=weight)[0].item()  # type: ignore[arg-type]
            for r in range(3)
        ]  # fmt: skip
        assert math.fsum(parts) == pytest.approx(whole.item())


def test_padding_changes_no_average() -> None:
    new, old, advantages, mask = _random(3)
    wide = [torch.nn.functional.pad(x.detach(), (0, 5)) for x in (new, old, advantages)]
    loss, metrics = ppo_clip_loss(new, old, advantages, mask)
    padded, padded_metrics = ppo_clip_loss(*wide, torch.nn.functional.pad(mask, (0, 5)))
    assert padded.item() == pytest.approx(loss.item())
    assert padded_metrics == pytest.approx(metrics)


def test_nothing_sampled_is_a_loss_of_zero_with_zero_gradient() -> None:
    new, old, advantages, mask = _random()
    loss, metrics = ppo_clip_loss(new, old, advantages, torch.zeros_like(mask))
    loss.backward()
    assert loss.item() == 0.0
    assert new.grad is not None
    assert (new.grad == 0).all()
    assert set(metrics.values()) == {0.0}


def test_metrics_by_hand() -> None:
    new = torch.tensor([[math.log(0.5), math.log(0.2)]], requires_grad=True)
    old = torch.tensor([[math.log(0.25), math.log(0.2)]])
    _, metrics = ppo_clip_loss(new, old, torch.ones(1, 2), torch.ones(1, 2, dtype=torch.bool))
    assert metrics["mean_ratio"] == pytest.approx(1.5)
    assert metrics["clipfrac"] == pytest.approx(0.5)
    assert metrics["approx_kl"] == pytest.approx((2 - 1 - math.log(2)) / 2)


@pytest.mark.parametrize("difference", [0.0, 1e-4, -1e-4, 5.0, -5.0, 100.0, -100.0, 1e30, -1e30, math.inf, -math.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_k3_and_the_ratio_are_finite_for_any_difference(difference: float, dtype: torch.dtype) -> None:
    logprobs = torch.zeros(1, 1, dtype=dtype, requires_grad=True)
    other = torch.full((1, 1), difference, dtype=dtype)
    value = k3(logprobs, other)
    assert torch.isfinite(value).all()
    assert value.item() >= 0
    loss, _ = ppo_clip_loss(logprobs, -other, -torch.ones(1, 1), torch.ones(1, 1, dtype=torch.bool))
    [gradient] = torch.autograd.grad(value.sum() + loss, logprobs)
    assert torch.isfinite(gradient).all()


def test_k3_keeps_its_digits_where_policies_are_close() -> None:
    assert k3(torch.zeros(1), torch.full((1,), 1e-4)).item() == pytest.approx(5e-9, rel=1e-2)


def test_estimators_average_to_the_divergence() -> None:
    p, q = torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64), torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    exact = (p * (p / q).log()).sum().item()
    assert (p * k1(p.log(), q.log())).sum().item() == pytest.approx(exact)
    assert (p * k3(p.log(), q.log())).sum().item() == pytest.approx(exact)


def test_no_gradient_flows_into_the_reference_or_the_old_policy() -> None:
    new, old, advantages, mask = _random()
    old.requires_grad_()
    (kl_loss(new, old, mask)[0] + ppo_clip_loss(new, old, advantages, mask)[0]).backward()
    assert old.grad is None
    assert new.grad is not None


def test_names_that_are_not_known_are_refused() -> None:
    new, old, _, mask = _random()
    with pytest.raises(ConfigurationError, match="average="):
        masked_average(old, mask, "row")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="kind="):
        kl_loss(new, old, mask, kind="k2")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="shape"):
        masked_average(old, mask[:1])


# -- log-probs of a model ---------------------------------------------------------------------------------------------


def _model() -> TinyLM:
    torch.manual_seed(0)
    return TinyLM(TinyConfig(vocab_size=23, hidden_size=16, num_attention_heads=2, num_hidden_layers=2))


def _rows() -> tuple[Tensor, Tensor]:
    ids = torch.randint(0, 23, (4, 9), generator=torch.Generator().manual_seed(1))
    mask = torch.zeros(4, 9, dtype=torch.bool)
    mask[:3, 4:6] = True
    mask[:2, 8] = True
    return ids, mask


@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("chunk", [1, 3, 4096])
def test_gathered_logprobs_are_those_of_the_full_log_softmax(chunk: int, temperature: float) -> None:
    model, (ids, mask) = _model(), _rows()
    full = (model(ids)[:, :-1] / temperature).log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0]
    expected = torch.cat([torch.zeros(4, 1), full], dim=1).masked_fill(~mask, 0.0)
    found = gather_logprobs(model.hidden(ids), model.logits, ids, mask, temperature=temperature, chunk=chunk)
    assert torch.allclose(found, expected, atol=1e-5)
    expected.sum().backward()
    wanted = [weight.grad.clone() for weight in model.parameters() if weight.grad is not None]
    model.zero_grad()
    found.sum().backward()
    assert all(
        torch.allclose(a, weight.grad, atol=1e-5)
        for a, weight in zip(wanted, model.parameters(), strict=True)
        if weight.grad is not None
    )


def test_gradient_is_zero_at_every_observation_token() -> None:
    model, (ids, mask) = _model(), _rows()
    seen: list[Tensor] = []
    hidden = model.hidden(ids)
    hidden.retain_grad()

    def head(states: Tensor) -> Tensor:
        logits = model.logits(states)
        seen.append(logits)
        return logits

    logprobs = gather_logprobs(hidden, head, ids, mask)
    loss, _ = ppo_clip_loss(logprobs, torch.zeros(4, 9), torch.ones(4, 9), mask)
    loss.backward()
    assert hidden.grad is not None
    predicts = torch.zeros_like(mask)
    predicts[:, :-1] = mask[:, 1:]
    assert (hidden.grad[~predicts] == 0).all()
    assert (hidden.grad[predicts].abs().sum(-1) > 0).all()
    assert sum(len(logits) for logits in seen) == int(mask.sum())  # no logit was even made elsewhere


def test_an_observation_id_is_never_a_target() -> None:
    model, (ids, mask) = _model(), _rows()
    ids[3] = 5  # a row that holds no sampled token
    before = gather_logprobs(model.hidden(ids), model.logits, ids, mask)
    hidden = model.hidden(ids)
    other = ids.clone()
    other[~mask] = (other[~mask] + 1) % 23
    assert torch.equal(gather_logprobs(hidden, model.logits, other, mask), before)


def test_a_sampled_first_id_and_a_temperature_of_zero_are_refused() -> None:
    model, (ids, mask) = _model(), _rows()
    with pytest.raises(ConfigurationError, match="temperature"):
        gather_logprobs(model.hidden(ids), model.logits, ids, mask, temperature=0.0)
    mask[0, 0] = True
    with pytest.raises(ConfigurationError, match="first id"):
        gather_logprobs(model.hidden(ids), model.logits, ids, mask)
