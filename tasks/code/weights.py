"""How hidden tests are weighed in progress. Invariant: weights are positive, sum to 1, and are the task's alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from agentenv.errors import ConfigurationError
from agentenv.tasks.code.base import CodeTask

__all__ = ["WEIGHTS", "density_weights", "weights_of"]

WEIGHTS = ("equal", "verpo")


def density_weights(
    rates: Sequence[float], *, alpha: float = 1.0, width: float = 0.1, delta: float = 1e-6
) -> list[float]:
    """VeRPO's weights of tests with these pass rates (METHODS 70), scaled to sum to 1.

    `w_j = exp(-alpha * rho_j) / (N_j + delta)` with `N_j = sum_k exp(-(rho_j - rho_k)^2 / (2 width^2))`: tests that
    pass often count less, and tests of like pass rates share one weight, however many they are. alpha, width and the
    scaling are ours, the paper's summary names no values.

    Args:
        rates: Pass rates, in [0, 1].
        alpha: How much less an easy test counts; at least 0.
        width: Within which pass rates count as alike; positive.
        delta: Keeps the division finite; at least 0.

    Raises:
        ConfigurationError: On a rate or a constant out of its range.

    >>> density_weights([0.5, 0.5])
    [0.5, 0.5]
    >>> one, *many = density_weights([0.0, 1.0, 1.0, 1.0])
    >>> round(one / sum(many), 4) == round(math.e, 4)
    True
    """
    if not (alpha >= 0 and width > 0 and delta >= 0 and math.isfinite(alpha + width + delta)):
        raise ConfigurationError(f"alpha={alpha}, width={width}, delta={delta}: at least 0, positive, at least 0")
    for rate in rates:
        if not 0 <= rate <= 1:
            raise ConfigurationError(f"a pass rate lies in [0, 1], got {rate}")
    raw = []
    for rate in rates:
        alike = math.fsum(math.exp(-((rate - other) ** 2) / (2 * width**2)) for other in rates)
        raw.append(math.exp(-alpha * rate) / (alike + delta))
    total = math.fsum(raw)
    return [weight / total for weight in raw]


def weights_of(task: CodeTask, rule: str) -> Mapping[str, float]:
    """The weight of each hidden test to fix, by its id.

    "equal" takes the tests' own weights (1 each, where the task says nothing). "verpo" takes `density_weights` of the
    rates at which the task's known solutions (the reference, other right ones, wrong ones) pass each test: the
    environment must not depend on the policy; weights of a batch's own pass rates are for a trainer to compute.

    Raises:
        ConfigurationError: On another rule, or "verpo" for a task that does not tell pass rates.
    """
    tests = [test for test in task.hidden if not test.keeps]
    if rule == "equal":
        return {test.id: test.weight for test in tests}
    if rule != "verpo":
        raise ConfigurationError(f"weights={rule!r} is not one of {', '.join(WEIGHTS)}")
    rates = task.extra.get("pass_rates")
    if rates is None:
        raise ConfigurationError(f"task {task.id!r} does not tell how often its tests pass: use weights='equal'")
    return dict(zip([t.id for t in tests], density_weights([rates[test.id] for test in tests]), strict=True))
