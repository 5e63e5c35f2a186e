"""The submission's process in a grading sandbox: imports the module, does one asked thing at a time, answers.

Invariant: nothing of the submission's runs while an answer is made: values are encoded by their exact types. (It may
well have changed this process by then. That is its own loss: the expected value is in none of them.)

It serves test code that is code too (`Harness`), in a sandbox of its own where no submission ever is: there, the
stand-ins for the submission's functions ask the grader, who asks the submission.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

if __package__:
    from agentenv.envs.code import wire
else:  # in the sandbox
    import wire  # type: ignore[import-not-found,no-redef]

__all__ = ["FRAME", "MOST_REQUEST", "WORKSPACE", "program", "read_frame", "serve", "settle", "write_all"]

WORKSPACE = "/workspace"
FRAME = 4
MOST_REQUEST = 64 << 20
_DETAIL = 1000
# Names that a step may call besides the module's own.
_OPERATIONS = (
    "abs", "all", "any", "bool", "bytes", "callable", "delattr", "dict", "divmod", "enumerate", "float", "format",
    "getattr", "hasattr", "hash", "int", "isinstance", "issubclass", "iter", "len", "list", "max", "min", "next",
    "repr", "reversed", "round", "set", "setattr", "sorted", "str", "sum", "tuple", "type", "zip",
)  # fmt: skip


def settle(descriptors: list[int], limits: dict[str, int], streams: bool = False) -> None:
    """Makes a forked process the submission's: no descriptors but these, a session of its own, limits.

    They become descriptors 3 and up, or, with `streams`, the standard ones, which are /dev/null otherwise.
    """
    nothing = os.open("/dev/null", os.O_RDWR)
    wanted = descriptors if streams else [nothing, nothing, nothing, *descriptors]
    for number, opened in enumerate(wanted):
        os.dup2(opened, number)
    os.closerange(len(wanted), 1 << 16)
    os.setsid()
    os.chdir(WORKSPACE)
    with open("/proc/self/oom_score_adj", "w") as file:  # this one goes first when memory is short
        file.write("500")
    import resource

    for name, most in limits.items():
        resource.setrlimit(getattr(resource, name), (most, most))
    del sys.modules["resource"]


def read_frame(descriptor: int) -> bytes | None:
    """The next message; None at the end."""
    head = _exactly(descriptor, FRAME)
    return None if head is None else _exactly(descriptor, int.from_bytes(head, "little"))


def _exactly(descriptor: int, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        part = os.read(descriptor, min(1 << 20, size - len(parts)))
        if not part:
            return None
        parts += part
    return bytes(parts)


def write_all(descriptor: int, data: bytes) -> None:
    """Writes everything."""
    unsent = memoryview(data)
    while unsent:
        unsent = unsent[os.write(descriptor, unsent) :]


def program(path: str, args: list[str]) -> Callable[[], None]:
    """What a forked program runs: as `python path args...` would."""

    def run() -> None:
        import builtins
        import io
        import types

        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, "r", closefd=False)), encoding="utf-8")
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding="utf-8")
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(io.FileIO(2, "w", closefd=False)), "utf-8", "backslashreplace", line_buffering=True
        )
        sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr  # type: ignore[misc]
        builtins.exit = builtins.quit = sys.exit  # type: ignore[assignment]
        sys.argv = [path, *args]
        place = os.path.join(WORKSPACE, path)
        sys.path[0:0] = [os.path.dirname(place)]
        module = types.ModuleType("__main__")
        module.__file__ = path
        sys.modules["__main__"] = module
        _forget()
        with open(place, "rb") as file:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        exec(code, module.__dict__)

    return run


def _forget() -> None:
    """The worker's own modules are none of the submission's."""
    for name in ("wire", "worker"):
        sys.modules.pop(name, None)


def serve(inward: int, outward: int) -> None:
    """Answers messages one at a time, as long as there are any."""
    sys.path[0:0] = [WORKSPACE]
    _forget()
    objects: dict[str, Any] = {}

    def say(answer: bytes) -> list[Any] | None:
        write_all(outward, len(answer).to_bytes(FRAME, "little") + answer)
        return hear()

    def hear() -> list[Any] | None:
        body = read_frame(inward)
        if body is None:
            return None
        heard: list[Any] = wire.decode(body, max_bytes=MOST_REQUEST, remotes=True)
        return heard

    message = hear()
    while message is not None:
        try:
            answer = _answer(message, objects, say)
        except wire.WireError as fault:
            answer = wire.encode(["unplain", str(fault)])
        except BaseException as error:
            answer = wire.encode(["raised", _lineage(error), *_told(error)])
        message = say(answer)


def _answer(message: list[Any], objects: dict[str, Any], say: Callable[[bytes], list[Any] | None]) -> bytes:
    """The encoded answer to one message."""
    if message[0] == "import":
        try:
            __import__(message[1])
        except BaseException as error:
            return wire.encode(["broken", _lineage(error), *_told(error)])
        return wire.encode(["done"])
    if message[0] == "harness":
        _, setup, code, names = message
        return _run_harness(setup, code, names, say)
    _, module, target, args, kwargs, get, keep, keep_unplain = message
    found = _find(target, sys.modules[module] if module else None, objects)
    if not get:
        found = found(*_filled(args, objects), **_filled(kwargs, objects))
    if keep:
        objects[keep] = found
        return wire.encode(["done"])
    try:
        return wire.encode(["value", found])
    except wire.WireError:
        if not keep_unplain:
            raise
        objects[keep_unplain] = found
        return wire.encode(["value", wire.Remote(keep_unplain)])


def _find(target: str, module: Any, objects: dict[str, Any]) -> Any:
    if target == "=":
        return lambda value: value
    first, *rest = target.split(".")
    if first.startswith("$"):
        found = objects[first[1:]]
    elif hasattr(module, first):
        found = getattr(module, first)
    elif first == "operator":
        found = __import__("operator")
    elif first in _OPERATIONS:
        found = getattr(__import__("builtins"), first)
    else:
        found = getattr(module, first)
    for name in rest:
        found = getattr(found, name)
    return found


def _filled(value: Any, objects: dict[str, Any]) -> Any:
    """The value with the objects that it refers to in their places."""
    kind = type(value)
    if kind is wire.Remote:
        return objects[value.name]
    if kind in (list, tuple):
        return kind(_filled(item, objects) for item in value)
    if kind is dict:
        return {key: _filled(item, objects) for key, item in value.items()}
    return value


def _lineage(error: BaseException) -> list[str]:
    """Names of the exception's classes, its own first."""
    return [str(kind.__name__)[:200] for kind in type(error).__mro__[:20]]


def _told(error: BaseException) -> tuple[str, str]:
    """What the exception says, and where in the workspace it came from."""
    try:
        said = str(error)[:_DETAIL]
    except BaseException:
        said = ""
    where = ""
    trace = error.__traceback__
    while trace is not None:
        name = str(trace.tb_frame.f_code.co_filename)
        if name.startswith(WORKSPACE):
            where = f"{name[len(WORKSPACE) + 1 :][:200]}:{trace.tb_lineno}"
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and not where:
        where = f"{str(error.filename or '')[len(WORKSPACE) + 1 :][:200]}:{error.lineno}"
    return said.encode("utf-8", "replace").decode("utf-8"), where


# -- test code that is code -------------------------------------------------------------------------------------------


class _StandIn:
    """A function, class or object of the submission's, asked over the wire."""

    def __init__(self, target: str, ask: Callable[[str, tuple[Any, ...], dict[str, Any], bool], Any]) -> None:
        self._target = target
        self._ask = ask

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._ask(self._target, args, kwargs, False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._ask(f"{self._target}.{name}", (), {}, True)


def _run_harness(setup: str, code: str, names: list[str], say: Callable[[bytes], list[Any] | None]) -> bytes:
    """Runs test code whose asserts have become notes of what held; the notes, and how it ended."""
    held: dict[int, bool] = {}

    def note(at: int, ok: Any) -> None:
        held[at] = held.get(at, True) and bool(ok)

    def ask(target: str, args: tuple[Any, ...], kwargs: dict[str, Any], get: bool) -> Any:
        heard = say(wire.encode(["wants", target, _sent(args), _sent(kwargs), get], MOST_REQUEST))
        if heard is None:
            os._exit(0)
        kind, *rest = heard
        if kind == "value":
            value = rest[0]
            return _StandIn(f"${value.name}", ask) if type(value) is wire.Remote else value
        lineage, said = rest
        raise _exception(lineage)(said)

    scope: dict[str, Any] = {"__name__": "harness"}
    error = ""
    try:
        exec(compile(setup, "setup", "exec", dont_inherit=True), scope)
        scope.update({name: _StandIn(name, ask) for name in names}, __held__=note)
        exec(compile(code, "tests", "exec", dont_inherit=True), scope)
    except BaseException as fault:
        error = f"{type(fault).__name__}: {_told(fault)[0]}"
    return wire.encode(["done", held, error])


def _sent(value: Any) -> Any:
    if isinstance(value, _StandIn):
        return wire.Remote(value._target[1:])
    if type(value) in (list, tuple):
        return type(value)(_sent(item) for item in value)
    if type(value) is dict:
        return {key: _sent(item) for key, item in value.items()}
    return value


def _exception(lineage: list[str]) -> type[BaseException]:
    """A class of the first name, below the nearest standard one, so that test code catches it by what it is."""
    import builtins

    for name in lineage:
        found = getattr(builtins, name, None)
        if isinstance(found, type) and issubclass(found, Exception):
            return found if name == lineage[0] else type(lineage[0], (found,), {})
    return Exception
