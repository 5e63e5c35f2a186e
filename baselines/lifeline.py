"""Runs a module as a process that does not outlive the one that started it.

    python -m agentenv.baselines.lifeline MODULE [ARGUMENTS...]

Standard input is a pipe whose other end the starter holds and never writes to. However the starter ends, SIGKILL
included, the kernel closes that end: the module is interrupted, as by Ctrl-C, so that it can save and remove its
sandboxes, and killed where that takes too long. Invariant: a starter that died earlier than this process began to
watch is noticed as well, because a closed pipe stays closed.
"""

from __future__ import annotations

import logging
import os
import runpy
import signal
import sys
import threading
import time

__all__ = ["GRACE_S", "hold_on"]

_LOG = logging.getLogger(__name__)
#: How long an interrupted process may take to end by itself.
GRACE_S = 20.0


def hold_on(grace_s: float = GRACE_S) -> None:
    """Ends this process once the other end of its standard input is closed; call it before anything else runs."""
    line = os.dup(0)
    # Nothing else reads from the pipe, and no program started from here keeps it.
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    threading.Thread(target=_watch, args=(line, grace_s), name="agentenv-lifeline", daemon=True).start()


def _watch(line: int, grace_s: float) -> None:
    while os.read(line, 1):
        pass
    _LOG.warning("the process that started this one is gone: stopping")
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(grace_s)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python -m agentenv.baselines.lifeline MODULE [ARGUMENTS...]")
    try:
        hold_on()
    except OSError as error:
        sys.exit(f"standard input has to be the pipe of whoever starts this: {error.strerror}")
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
