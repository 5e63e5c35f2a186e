"""Every error that agentenv raises: one class per kind of failure, each message naming the value and the fix.

The one distinction that must never blur: an agent that fails is *not* an error (reward 0), a limit that cuts an
episode is *not* an error (``truncated``), and a platform that fails is `InfrastructureError`, which trainers count
and exclude.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "AgentEnvError",
    "CheckpointError",
    "ClosedEnvironmentError",
    "ConfigurationError",
    "DataFileError",
    "EpisodeOverError",
    "GraderError",
    "InfrastructureError",
    "IsolationUnavailableError",
    "LimitUnenforceableError",
    "NotInStateError",
    "ResetNeededError",
    "ResultsFileError",
    "SandboxLostError",
    "SnapshotError",
    "TextTooLongError",
    "TokenMismatchError",
    "TrajectoryFormatError",
    "UnknownTaskError",
    "UnsafePathError",
    "did_you_mean",
]


class AgentEnvError(Exception):
    """Base class of every error raised by agentenv."""


class ConfigurationError(AgentEnvError, ValueError):
    """An argument has a value that cannot be used; the message names it and the values that can."""


class UnknownTaskError(ConfigurationError):
    """A task id or a task set's name is not known."""


class ResetNeededError(AgentEnvError):
    """`step`, `verify` or `snapshot` was called before `reset`."""


class EpisodeOverError(AgentEnvError):
    """`step` was called after the episode had ended."""


class ClosedEnvironmentError(AgentEnvError):
    """An environment or sandbox was used after `close`."""


class SnapshotError(AgentEnvError):
    """A wrapper stack or environment cannot be saved, or a snapshot does not fit what it is restored into."""


class TextTooLongError(AgentEnvError, ValueError):
    """A text does not fit the fixed number of bytes that shared memory holds for it."""


class TokenMismatchError(AgentEnvError):
    """Token ids that must agree do not: training would be on ids that were never sampled."""


class TrajectoryFormatError(AgentEnvError, ValueError):
    """A trajectory file holds a line that is not one of ours."""


class DataFileError(AgentEnvError, ValueError):
    """A data file does not hold what its format promises; the message names the file, the line and the key."""


class ResultsFileError(AgentEnvError, ValueError):
    """A results file is not readable, or is not one of ours."""


class CheckpointError(AgentEnvError):
    """A checkpoint cannot be written or read."""


class InfrastructureError(AgentEnvError):
    """The platform failed, not the agent: the episode must be retried or excluded, never scored."""


class SandboxLostError(InfrastructureError):
    """The sandbox died (killed from outside, or its host took it away)."""


class GraderError(InfrastructureError):
    """A check itself crashed or returned a value outside [0, 1]; the message never quotes what the check holds."""


class IsolationUnavailableError(InfrastructureError):
    """This host cannot isolate untrusted commands; the message names the setting that forbids it."""


class LimitUnenforceableError(InfrastructureError):
    """A task requires a limit that this host cannot enforce."""


class NotInStateError(AgentEnvError):
    """What a check asked for is not there: no such path, no regular file, too large, or not text.

    A check that raises it scores 0.0, with the message as its evidence: it is the agent's state that falls short.
    """


class UnsafePathError(NotInStateError):
    """A path leaves the sandbox's root, or names something that is not a regular file or directory."""


def did_you_mean(value: str, known: Iterable[str]) -> str:
    """The tail of an error message that suggests the nearest known name, or nothing.

    >>> did_you_mean("log-rotat-3", ["log-rotate-3", "links-1"])
    " Did you mean 'log-rotate-3'?"
    >>> did_you_mean("zzz", ["log-rotate-3"])
    ''
    """
    near = difflib.get_close_matches(value, list(known), n=1)
    return f" Did you mean {near[0]!r}?" if near else ""
