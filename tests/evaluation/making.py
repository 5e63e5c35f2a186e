"""Results made by hand, for tests of statistics, files and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentenv.evaluation.results import EpisodeRecord, Header, PlatformFailure, Results
from agentenv.evaluation.statistics import summarise


def make_record(task_id: str, episode: int, success: bool, family: str = "even", turns: int = 2) -> EpisodeRecord:
    """An episode that gains evenly; a failed one stops half-way."""
    top = 1.0 if success else 0.5
    return EpisodeRecord(
        task_id=task_id,
        episode=episode,
        family=family,
        seed=episode,
        actions=tuple(f"act {n}" for n in range(turns)),
        progress=tuple(top * n / turns for n in range(turns + 1)),
        rewards=(*(0.0 for _ in range(turns - 1)), float(success)),
        valid=(True,) * turns,
        state_hashes=tuple(f"h{n}" for n in range(turns + 1)),
        success=success,
        outcome=float(success),
        stop_reason="success" if success else "max_turns",
        checks={"a": 1.0, "b": float(success)},
        sampled_tokens=7,
        prompt_tokens=40,
    )


def make_results(
    successes: Sequence[bool], *, episodes: int = 1, failed: int = 0, fingerprint: str = "f", policy: str = "p"
) -> Results:
    """One task per entry, played `episodes` times; the platform failed `failed` further tasks."""
    count = len(successes) + failed
    header = Header(
        env_spec="{}",
        task_set="made",
        split="test",
        fingerprint=fingerprint,
        max_turns=4,
        task_ids=tuple(f"t-{n}" for n in range(count)),
        episodes_per_task=episodes,
        policy=policy,
        seed=0,
        sampling={"temperature": 1.0},
        agentenv_version="0",
    )
    records = tuple(
        make_record(f"t-{n}", k, success, "odd" if n % 2 else "even")
        for n, success in enumerate(successes)
        for k in range(episodes)
    )
    failures = tuple(
        PlatformFailure(f"t-{n}", k, "SandboxLostError: gone")
        for n in range(len(successes), count)
        for k in range(episodes)
    )
    results = Results(header, records, failures)
    return replace(results, summary=summarise(results).to_json())
