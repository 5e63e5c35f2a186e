"""Policies without a model: demonstrations, baselines of a leaderboard, replays. They read text and have no ids."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping, Sequence

from agentenv.errors import ConfigurationError, UnknownTaskError, did_you_mean
from agentenv.policy.base import Prompt, Sample, Sampling
from agentenv.scripts import Scripts
from agentenv.task import TaskSet, stable_rng
from agentenv.trajectory import Trajectory

__all__ = ["CarelessPolicy", "FixedPolicy", "NoopPolicy", "OraclePolicy", "RandomPolicy", "ReplayPolicy"]


class _Scripted(abc.ABC):
    """What all scripted policies share: no format, no caches, no weights."""

    name = "scripted"
    version = 0
    format = None

    def act(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Sample]:
        """One sample per prompt, in order."""
        return [Sample(text=self.action(prompt)) for prompt in prompts]

    def release(self, keys: Sequence[str]) -> None:  # noqa: B027 (it does all there is to do)
        """Nothing is kept for an episode."""

    @abc.abstractmethod
    def action(self, prompt: Prompt) -> str:
        """The action's text."""


class FixedPolicy(_Scripted):
    """Plays a fixed list of actions; the last one again after its end.

    Args:
        actions: At least one.
        name: For results files.

    >>> policy = FixedPolicy(["ls", "submit"])
    >>> [policy.act([Prompt("e", turn=turn)], Sampling())[0].text for turn in range(3)]
    ['ls', 'submit', 'submit']
    """

    def __init__(self, actions: Iterable[str], *, name: str = "fixed") -> None:
        self._actions = list(actions)
        self.name = name
        if not self._actions:
            raise ConfigurationError("a fixed policy needs at least one action")

    def action(self, prompt: Prompt) -> str:
        """The action of this turn."""
        return self._actions[min(prompt.turn, len(self._actions) - 1)]


class NoopPolicy(FixedPolicy):
    """Ends the episode at once, or does nothing until it runs out.

    Args:
        action: What does so in the environment (`AgentEnv.scripts`).

    >>> NoopPolicy().act([Prompt("e")], Sampling())
    [Sample(text='submit', ids=(), logprobs=(), stop_reason='stop')]
    """

    def __init__(self, action: str = "submit") -> None:
        super().__init__([action], name="noop")


class OraclePolicy(_Scripted):
    """Plays the task set's own solution of each task.

    Args:
        task_set: Where solutions come from.
    """

    name = "oracle"

    def __init__(self, task_set: TaskSet) -> None:
        self._task_set = task_set

    def action(self, prompt: Prompt) -> str:
        """The solution's action of this turn; the last one again after its end."""
        actions = self._task_set.oracle(prompt.task_id)
        return actions[min(prompt.turn, len(actions) - 1)]


class RandomPolicy(_Scripted):
    """Plays an environment's actions at random, made of the latest observation (`AgentEnv.scripts`).

    The same prompt and seed give the same action in any process.

    Args:
        scripts: The environment's; by default words of the observation, and `submit` one time in eight.

    >>> prompt = Prompt("e", observation="make notes.txt", seed=3)
    >>> RandomPolicy().act([prompt], Sampling()) == RandomPolicy().act([prompt], Sampling())
    True
    """

    name = "random"

    def __init__(self, scripts: Scripts | None = None) -> None:
        self._random = (scripts or Scripts()).random

    def action(self, prompt: Prompt) -> str:
        """The action of this turn."""
        rng = stable_rng("random policy", prompt.seed, prompt.turn, prompt.task_id, prompt.observation)
        return self._random(prompt.observation, rng)


class CarelessPolicy(_Scripted):
    """Does the obvious thing once and believes what comes first, as the environment has it (`AgentEnv.scripts`).

    Args:
        scripts: The environment's.

    Raises:
        ConfigurationError: If the environment has no such agent.
    """

    name = "careless"

    def __init__(self, scripts: Scripts) -> None:
        if scripts.careless is None:
            raise ConfigurationError("this environment has no careless agent: Search and WebShop have")
        self._careless = scripts.careless
        self._first: dict[str, str] = {}

    def action(self, prompt: Prompt) -> str:
        """The action of this turn."""
        if prompt.turn == 0:
            self._first[prompt.key] = prompt.observation
        return self._careless(self._first.get(prompt.key, ""), prompt.observation)

    def release(self, keys: Sequence[str]) -> None:
        """Forgets the first observations of episodes that ended."""
        for key in keys:
            self._first.pop(key, None)


class ReplayPolicy(_Scripted):
    """Plays again the actions of recorded episodes, one episode per task (the first recorded).

    Args:
        trajectories: The recorded episodes.
        name: For results files.
    """

    def __init__(self, trajectories: Iterable[Trajectory], *, name: str = "replay") -> None:
        actions: dict[str, list[str]] = {}
        for trajectory in trajectories:
            if trajectory.turns:
                actions.setdefault(trajectory.task_id, [turn.action for turn in trajectory.turns])
        self._actions: Mapping[str, list[str]] = actions
        self.name = name

    def action(self, prompt: Prompt) -> str:
        """The recorded action of this turn; the last one again after its end."""
        actions = self._actions.get(prompt.task_id)
        if actions is None:
            raise UnknownTaskError(
                f"no recorded episode of task {prompt.task_id!r}.{did_you_mean(prompt.task_id, self._actions)}"
            )
        return actions[min(prompt.turn, len(actions) - 1)]
