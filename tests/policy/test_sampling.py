from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from agentenv.errors import InfrastructureError
from agentenv.policy.sampling import draw, uniforms


@settings(max_examples=50, deadline=None)
@given(
    logits=st.lists(st.floats(-30, 30, width=32), min_size=2, max_size=12),
    number=st.floats(0, 1, exclude_max=True),
    temperature=st.floats(0.1, 5),
)
def test_draw_inverts_the_cumulative_distribution(logits, number, temperature):
    ids, logprobs = draw(torch.tensor([logits]), np.array([number]), temperature)
    expected = torch.log_softmax(torch.tensor(logits, dtype=torch.float64) / temperature, -1)
    steps = np.concatenate([[0], np.cumsum(expected.exp().numpy())])
    token = int(ids)
    assert steps[token] - 1e-9 <= number <= steps[token + 1] + 1e-9
    assert float(logprobs) == pytest.approx(float(expected[token]))


def test_frequencies_follow_the_distribution():
    logits = torch.tensor([[0.0, 1.0, -1.0]]).expand(20_000, 3)
    ids, _ = draw(logits, uniforms([3], 20_000)[0], 1.0)
    frequencies = torch.bincount(ids, minlength=3) / 20_000
    torch.testing.assert_close(frequencies, torch.softmax(logits[0], -1), atol=0.015, rtol=0)


def test_a_token_of_probability_zero_is_never_drawn():
    logits = torch.tensor([[-1e30, 0.0, -1e30, 0.0, -1e30]]).expand(1000, 5)
    ids, logprobs = draw(logits, np.linspace(0, 1, 1000, endpoint=False), 1.0)
    assert set(ids.tolist()) == {1, 3}
    assert bool(torch.isfinite(logprobs).all())


def test_numbers_belong_to_their_seed_and_place():
    assert (uniforms([5, 6, -1], 8)[1] == uniforms([6], 20)[0, :8]).all()
    assert len(np.unique(uniforms(range(50), 4))) == 200


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_logits_that_are_not_finite_are_refused(bad):
    for temperature in (0.0, 1.0):
        with pytest.raises(InfrastructureError):
            draw(torch.tensor([[0.0, bad]]), np.array([0.5]), temperature)
