"""`AgentEnv`: what all environments share. Invariant: reward is the outcome, progress is a channel beside it.

An environment writes five short methods (`begin`, `act`, `checks`, `save`, `load`, and `view` for its checks to read);
this class does task choice, the turn limit, verification after every turn, the outcome, the `info` schema, snapshots
and strict refusal of use after the end.
"""

from __future__ import annotations

import abc
import contextlib
import copy
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from agentenv.actions import InvalidAction
from agentenv.errors import (
    ClosedEnvironmentError,
    ConfigurationError,
    EpisodeOverError,
    ResetNeededError,
    SnapshotError,
    UnknownTaskError,
)
from agentenv.progress import Check, Progress, StateView, verify_checks
from agentenv.scripts import Scripts
from agentenv.spaces import UnicodeText, is_encodable
from agentenv.task import SPLITS, Task, TaskSet, stable_rng

__all__ = ["INFO_KEYS", "AgentEnv", "Reply", "Snapshot"]

INFO_KEYS = (
    "progress",
    "checks",
    "success",
    "task_id",
    "turn",
    "valid_action",
    "stop_reason",
    "reward_parts",
    "state_hash",
)


@dataclass(frozen=True)
class Reply:
    """What an environment answers to an action.

    Args:
        text: The observation.
        done: Whether the agent ended the episode with this action (submitted, answered, bought, proved).
        valid: Whether the action was in the grammar; an invalid one must have left the state unchanged.
        stop_reason: Names why `done`, or which limit cut the action ("" for neither).
        truncated: A limit other than turns ended the episode (`stop_reason` names it).
    """

    text: str
    done: bool = False
    valid: bool = True
    stop_reason: str = ""
    truncated: bool = False


@dataclass(frozen=True)
class Snapshot:
    """A kept state of one environment or of a whole wrapper stack. Treat it as opaque.

    `saved` is the environment's own state, `base` the episode's bookkeeping, `wrappers` one entry per wrapper.
    """

    kind: str
    task_id: str
    base: dict[str, Any] = field(repr=False)
    saved: object = field(repr=False)
    wrappers: tuple[tuple[str, Any], ...] = field(default=(), repr=False)

    def close(self) -> None:
        """Frees what the snapshot holds on disk; garbage collection does so too."""
        close = getattr(self.saved, "close", None)
        if callable(close):
            close()


_REMEMBERED_STARTS = 256


@dataclass
class _Episode:
    """The bookkeeping of one episode; copied into snapshots."""

    task: Task
    turn: int = 0
    over: bool = False
    progress: Progress | None = None
    state_hash: str = ""
    # What the checks saw when they gave `progress`.
    seen: str = ""


class AgentEnv(gym.Env[str, str], abc.ABC):
    """Base class of the environments: text in, text out, verified progress every turn.

    Args:
        task_set: Where tasks come from.
        split: Which split `reset` samples from when no task is named.
        max_turns: Turns after which the episode is cut.
        render_mode: None or "ansi" (`render` returns the last observation with the checks).

    Raises:
        ConfigurationError: On a bad split, limit or render mode.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 4}  # type: ignore[misc]
    observation_space: UnicodeText
    action_space: UnicodeText
    #: The text that teaches an agent the action grammar; `transcript.py` puts it in front of every episode.
    instructions: ClassVar[str] = ""
    #: Strings at which a policy may stop generating.
    stop: ClassVar[tuple[str, ...]] = ()
    #: JSON schema of the action as a tool call.
    tool_schema: ClassVar[dict[str, Any]] = {}
    #: What agents without a model do here (`agentenv eval noop`, `random`, `careless`).
    scripts: ClassVar[Scripts] = Scripts()
    #: Whether the state at the turn limit is graded as if submitted (Terminal, Code).
    grades_unsubmitted: ClassVar[bool] = True

    def __init__(
        self,
        task_set: TaskSet,
        *,
        split: str = "train",
        max_turns: int = 10,
        render_mode: str | None = None,
        max_bytes: int = 1 << 18,
    ) -> None:
        if split not in SPLITS:
            raise ConfigurationError(f"split={split!r} is not one of {', '.join(map(repr, SPLITS))}")
        if max_turns < 1:
            raise ConfigurationError(f"max_turns must be at least 1, got {max_turns}")
        if render_mode not in (None, "ansi"):
            raise ConfigurationError(f"render_mode={render_mode!r} is not None or 'ansi'")
        self.task_set = task_set
        self.split = split
        self.max_turns = max_turns
        self.render_mode = render_mode
        self.observation_space = UnicodeText(max_bytes)
        self.action_space = UnicodeText(max_bytes)
        self._episode: _Episode | None = None
        self._closed = False
        # By task id: what the checks saw in the start state, and what they said.
        self._verified_starts: dict[str, tuple[str, Progress]] = {}
        self._last_text = ""

    # -- what an environment writes -------------------------------------------------------------------------------

    @abc.abstractmethod
    def begin(self, task: Task, rng: np.random.Generator) -> str:
        """Builds the task's start state and returns the first observation."""

    @abc.abstractmethod
    def act(self, action: str) -> Reply:
        """Plays one action."""

    @abc.abstractmethod
    def checks(self) -> Sequence[Check]:
        """What success means for the current task."""

    @abc.abstractmethod
    def view(self) -> StateView:
        """The read-only view of the current state that checks are given."""

    @abc.abstractmethod
    def save(self) -> object:
        """The state, cheaply, independent of the live one."""

    @abc.abstractmethod
    def load(self, saved: object) -> None:
        """Brings a saved state back; `saved` stays usable."""

    @abc.abstractmethod
    def hash_state(self) -> str:
        """Equal states give equal hashes."""

    def hashes(self) -> tuple[str, str]:
        """`hash_state()`, and a key that differs whenever anything that a check can see does (times, scratch files)."""
        state_hash = self.hash_state()
        return state_hash, state_hash

    def held(self) -> AbstractContextManager[None]:
        """Holds still whatever lives in the state while it is hashed and verified: all checks see one state."""
        return contextlib.nullcontext()

    def on_restore(self, task: Task) -> None:
        """Called after `load`, with the restored episode's task: fetch here what is never part of a snapshot."""

    def submission(self) -> dict[str, Any]:
        """What benchmarks' own scripts ask of the episode so far, as JSON values for results files; {} for none."""
        return {}

    def release(self) -> None:
        """Frees what the environment holds; idempotent, never raises."""

    def outcome(self, progress: Progress) -> float:
        """The graded score of the final state: 1.0 on success, else 0.0."""
        return 1.0 if progress.success else 0.0

    # -- Gymnasium's interface ------------------------------------------------------------------------------------

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Starts an episode: of `options["task_id"]`, else of a task drawn with the environment's generator.

        Raises:
            UnknownTaskError: If the task id is not in the task set.
            ConfigurationError: On an unknown option.
        """
        if self._closed:
            raise ClosedEnvironmentError("reset() after close(): make a new environment")
        super().reset(seed=seed)
        task = self._choose_task(options or {})
        self._episode = None  # a begin() that fails must leave no episode to step
        text = self.begin(task, stable_rng("episode", task.id))
        seen, progress = self._verified_starts.get(task.id, ("", None))
        self._episode = _Episode(task, seen=seen, progress=progress)
        self._last_text = text
        self._remember_start(task.id, self._verify_if_changed())
        return text, self._info(valid=True, stop_reason="", outcome=0.0, success=False)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Plays one turn and verifies the state it leaves.

        Raises:
            ResetNeededError: Before the first `reset`.
            EpisodeOverError: After the episode ended.
            InfrastructureError: When the platform failed; the episode must not be scored.
        """
        episode = self._live_episode("step")
        if episode.over:
            raise EpisodeOverError(f"the episode of task {episode.task.id!r} is over: call reset() first")
        if not isinstance(action, str):
            raise ConfigurationError(f"an action is a str, got {type(action).__name__}: {action!r:.80}")
        reply = self._play(action)
        episode.turn += 1
        progress = self._verify_if_changed()
        at_limit = reply.truncated or episode.turn >= self.max_turns
        graded = reply.done or (at_limit and self.grades_unsubmitted)
        outcome = self.outcome(progress) if graded else 0.0
        success = graded and progress.success
        terminated = reply.done or success
        truncated = at_limit and not terminated
        stop_reason = ""
        if success:
            stop_reason = "success"
        elif reply.done:
            stop_reason = reply.stop_reason or "submitted"
        elif truncated:
            stop_reason, outcome = (reply.stop_reason if reply.truncated else "max_turns"), 0.0
        episode.over = terminated or truncated
        self._last_text = reply.text
        info = self._info(valid=reply.valid, stop_reason=stop_reason, outcome=outcome, success=success)
        return reply.text, outcome, terminated, truncated, info

    def verify(self) -> Progress:
        """Re-runs the acceptance checks on the current state: read-only, repeatable, invisible to the agent."""
        self._live_episode("verify")
        with self.held():
            return verify_checks(self.checks(), self.view())

    def render(self) -> str | None:
        """The last observation and the checks as text (with `render_mode="ansi"`)."""
        if self.render_mode is None or self._episode is None:
            return None
        progress = self._episode.progress
        lines = [
            f"[{'x' if score == 1.0 else ' '}] {name}" for name, score in (progress.checks if progress else {}).items()
        ]
        return "\n".join([self._last_text, *lines])

    def close(self) -> None:
        """Ends the episode and frees everything; idempotent."""
        if not getattr(self, "_closed", True):
            self._closed = True
            self._episode = None
            self.release()

    # -- snapshots ------------------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        """Keeps the current state; the live episode goes on untouched."""
        episode = self._live_episode("snapshot")
        base = {
            "episode": copy.copy(episode),
            "rng": copy.deepcopy(self._np_random),
            "rng_seed": self._np_random_seed,
            "last_text": self._last_text,
        }
        return Snapshot(type(self).__name__, episode.task.id, base, self.save())

    def restore(self, snapshot: Snapshot) -> None:
        """Goes to a kept state, its turn count and random generator included.

        Raises:
            SnapshotError: If the snapshot is of another kind of environment or another task set.
        """
        if self._closed:
            raise ClosedEnvironmentError("restore() after close(): make a new environment")
        if snapshot.kind != type(self).__name__:
            raise SnapshotError(f"a snapshot of {snapshot.kind} cannot be restored into {type(self).__name__}")
        if snapshot.wrappers:
            raise SnapshotError("this snapshot is of a wrapper stack: use agentenv.restore(env, snapshot)")
        if not self._has_task(snapshot.base["episode"].task):
            raise SnapshotError(f"the snapshot's task {snapshot.task_id!r} is not in {self.task_set.name!r} here")
        self._episode = None
        self.load(snapshot.saved)
        self._episode = copy.copy(snapshot.base["episode"])
        self._np_random = copy.deepcopy(snapshot.base["rng"])
        self._np_random_seed = snapshot.base["rng_seed"]
        self._last_text = snapshot.base["last_text"]
        self.on_restore(self._episode.task)

    def fork(self) -> AgentEnv:
        """An independent copy at this very state."""
        twin = self.twin()
        snapshot = self.snapshot()
        try:
            twin.restore(snapshot)
        except BaseException:
            twin.close()
            raise
        finally:
            snapshot.close()
        return twin

    def twin(self) -> AgentEnv:
        """A new environment with the same constructor arguments and no episode yet."""
        kwargs = getattr(self, "_saved_kwargs", None)
        if kwargs is None:
            raise SnapshotError(
                f"{type(self).__name__} must record its arguments (gymnasium.utils.RecordConstructorArgs) to be forked"
            )
        twin = type(self)(**kwargs)
        twin.spec = copy.deepcopy(self.spec)
        return twin

    # -- inside ---------------------------------------------------------------------------------------------------

    @property
    def task(self) -> Task:
        """The current episode's task."""
        return self._live_episode("task").task

    def _choose_task(self, options: dict[str, Any]) -> Task:
        unknown = sorted(set(options) - {"task_id"})
        if unknown:
            raise ConfigurationError(f"reset options {unknown} are not known; known: ['task_id']")
        if "task_id" in options:
            task_id = options["task_id"]
            if not isinstance(task_id, str):
                raise UnknownTaskError(f"task_id must be a str, got {task_id!r}")
        else:
            task_id = self.task_set.sample(self.np_random, self.split)
        return self.task_set.task(task_id)

    def _has_task(self, task: Task) -> bool:
        try:
            return self.task_set.task(task.id) == task
        except UnknownTaskError:
            return False

    def _play(self, action: str) -> Reply:
        if isinstance(action, InvalidAction):
            return Reply(f"Invalid action: {action.reason}", valid=False)
        if not is_encodable(action):
            return Reply("Invalid action: it holds lone surrogates, which are not text.", valid=False)
        if action not in self.action_space:
            size, most = len(action.encode("utf-8")), self.action_space.max_bytes
            return Reply(f"Invalid action: {size} bytes; at most {most} are accepted.", valid=False)
        return self.act(action)

    def _live_episode(self, call: str) -> _Episode:
        if self._closed:
            raise ClosedEnvironmentError(f"{call} after close(): make a new environment")
        if self._episode is None:
            raise ResetNeededError(f"{call} needs an episode: call reset() first")
        return self._episode

    def _remember_start(self, task_id: str, progress: Progress) -> None:
        """A task that starts in the state it started in before is not verified anew."""
        self._verified_starts.pop(task_id, None)
        self._verified_starts[task_id] = (self._live_episode("reset").seen, progress)
        while len(self._verified_starts) > _REMEMBERED_STARTS:
            del self._verified_starts[next(iter(self._verified_starts))]

    def _verify_if_changed(self) -> Progress:
        episode = self._live_episode("verify")
        with self.held():
            state_hash, seen = self.hashes()
            if episode.progress is None or seen != episode.seen:
                episode.progress = verify_checks(self.checks(), self.view())
            episode.state_hash, episode.seen = state_hash, seen
        return episode.progress

    def _info(self, *, valid: bool, stop_reason: str, outcome: float, success: bool) -> dict[str, Any]:
        episode = self._live_episode("info")
        progress = episode.progress or self._verify_if_changed()
        return {
            "progress": progress.value,
            "checks": dict(progress.checks),
            "success": success,
            "task_id": episode.task.id,
            "turn": episode.turn,
            "valid_action": valid,
            "stop_reason": stop_reason,
            "reward_parts": {"outcome": float(outcome)},
            "state_hash": episode.state_hash,
        }
