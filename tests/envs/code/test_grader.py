from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentenv.envs.code.grader import Grader, Limits, Result
from agentenv.envs.code.pool import Pool, start
from agentenv.errors import ClosedEnvironmentError, ConfigurationError, SandboxLostError
from agentenv.progress import RunResult
from agentenv.sandbox import processes
from agentenv.tasks.code.base import (
    ANYTHING,
    Calls,
    Compare,
    Harness,
    Keep,
    NodeTest,
    Program,
    Raises,
    Ref,
    Step,
    TestCase,
    call,
    raises,
)

DOUBLE = b"def f(x):\n    return x * 2\n"
TESTS = (call("a", "f", 2, expected=4), call("b", "f", "x", expected="xx"))
STACK = b"""
class Empty(LookupError):
    pass
class Stack:
    def __init__(self, items=()):
        self.items = list(items)
    def push(self, item):
        self.items.append(item)
        return self
    def pop(self):
        if not self.items:
            raise Empty("the stack is empty")
        return self.items.pop()
    @property
    def size(self):
        return len(self.items)
    def __len__(self):
        return len(self.items)
    def __eq__(self, other):
        return self.items == other.items
def sort(xs):
    xs.sort()
"""


def passed(results: dict[str, Result]) -> dict[str, bool]:
    return {name: result.passed for name, result in results.items()}


def one(grader: Grader, source: bytes, case: Any, **kwargs: Any) -> Result:
    return grader.grade({"solution.py": source}, [TestCase("t", case, **kwargs)])["t"]


def test_every_test_is_reported_in_order_whatever_happens(grader: Grader) -> None:
    tests = [call(f"t{n}", "f", n, expected=n * 2) for n in range(5)]
    for source in (DOUBLE, b"import os; os._exit(0)", b"", b"not python", b"\0"):
        assert list(grader.grade({"solution.py": source}, tests)) == [test.id for test in tests]
    assert list(grader.grade({}, tests)) == [test.id for test in tests]


def test_one_test_that_kills_the_process_leaves_the_others_alone(grader: Grader) -> None:
    source = b"import os\ndef f(x):\n    return x * 2 if x != 1 else os._exit(1)\n"
    tests = [call(f"t{n}", "f", n, expected=n * 2) for n in range(3)]
    assert passed(grader.grade({"solution.py": source}, tests)) == {"t0": True, "t1": False, "t2": True}


def test_a_script_of_calls_on_objects(grader: Grader) -> None:
    steps = (
        Step("Stack", expected=Keep("s")),
        Step("$s.push", (1,), expected=Keep("s")),
        Step("$s.push", (2,)),
        Step("$s.size", get=True, expected=2),
        Step("len", (Ref("s"),), expected=2),
        Step("$s.pop", expected=2),
        Step("Stack", ([1],), expected=Keep("t")),
        Step("operator.eq", (Ref("s"), Ref("t")), expected=True),
        Step("$s.pop", expected=1),
        Step("$s.pop", expected=Raises("Empty", "is empty")),
        Step("$t.items", get=True, expected=[1]),
    )
    assert one(grader, STACK, Calls("solution", steps)) == Result(True, "passed")


def test_what_a_call_did_to_its_argument(grader: Grader) -> None:
    steps = (
        Step("=", ([3, 1, 2],), expected=Keep("xs")),
        Step("sort", (Ref("xs"),), expected=None),
        Step("$xs", get=True, expected=[1, 2, 3]),
    )
    assert one(grader, STACK, Calls("solution", steps)).passed


def test_objects_of_one_test_are_not_there_in_the_next(grader: Grader) -> None:
    make = TestCase("make", Calls("solution", (Step("Stack", expected=Keep("s")),)))
    use = TestCase("use", Calls("solution", (Step("$s.size", get=True, expected=0),)))
    assert passed(grader.grade({"solution.py": STACK}, [make, use])) == {"make": True, "use": False}


def test_exceptions_by_name_of_any_base_and_by_message(grader: Grader) -> None:
    for wanted, good in ((Raises("LookupError"), True), (Raises("Empty", "stack"), True), (Raises("KeyError"), False)):
        steps = (Step("Stack", expected=Keep("s")), Step("$s.pop", expected=wanted))
        assert one(grader, STACK, Calls("solution", steps)).passed is good
    assert not one(grader, STACK, raises("x", "Stack", error="Empty").case).passed


def test_anything_is_anything_that_returns(grader: Grader) -> None:
    assert one(grader, STACK, Calls("solution", (Step("Stack", expected=ANYTHING),))).passed
    assert not one(grader, STACK, Calls("solution", (Step("Stack", (1,), expected=ANYTHING),))).passed


def test_a_failure_tells_what_was_given_and_expected(grader: Grader) -> None:
    result = one(grader, DOUBLE, call("t", "f", [1], expected=[2]).case)
    assert result.detail == "f([1]) gave [1, 1]; expected [2]"
    result = one(grader, b"def f(x):\n    return x[9]\n", call("t", "f", [1], expected=[2]).case)
    assert result.detail == "f([1]) raised IndexError: list index out of range (at solution.py:2); expected [2]"


def test_packages_and_data_files_are_there(grader: Grader) -> None:
    files = {
        "shop/__init__.py": b"from shop.cart import total\n",
        "shop/cart.py": b"import pathlib\ndef total():\n    return int(pathlib.Path('shop/data.txt').read_text())\n",
        "shop/data.txt": b"7\n",
    }
    tests = [call("a", "total", module="shop", expected=7), call("b", "total", module="shop.cart", expected=7)]
    assert passed(grader.grade(files, tests)) == {"a": True, "b": True}


def test_programs_read_arguments_and_end_with_a_code(grader: Grader) -> None:
    source = b"import sys\nprint(sys.argv[1:], input(), __name__)\nsys.exit(2)\n"
    case = Program("solution.py", "hello\n", "['a', '-b'] hello __main__", args=("a", "-b"), exit_code=2)
    assert one(grader, source, case).passed
    failing = one(grader, b"1/0\n", Program("solution.py", "", ""))
    assert failing.reason == "exit code"
    assert "ZeroDivisionError" in failing.detail


def test_programs_wait_for_their_threads_and_exit_handlers(grader: Grader) -> None:
    source = (
        b"import atexit, threading, time\natexit.register(print, 'end')\n"
        b"threading.Thread(target=lambda: (time.sleep(0.05), print('thread'))).start()\n"
    )
    assert one(grader, source, Program("solution.py", "", "thread\nend\n")).passed


CHECK = """
def check(candidate):
    assert candidate(1) == 2, "one"
    for k in range(3):
        assert candidate(k) == 2 * k
    assert candidate("ab") == helped("ab")
check(f)
"""
HELP = "def helped(text):\n    return text + text\n"


def harness(*parts: int) -> list[TestCase]:
    return [TestCase(f"{part}", Harness("solution", ("f",), CHECK, part, HELP)) for part in parts]


def test_test_code_sees_values_and_counts_each_assert(grader: Grader) -> None:
    tests = harness(-1, 0, 1, 2)
    assert all(passed(grader.grade({"solution.py": DOUBLE}, tests)).values())
    wrong = b"def f(x):\n    return x + x if x != 2 else 5\n"
    assert passed(grader.grade({"solution.py": wrong}, tests)) == {"-1": True, "0": True, "1": False, "2": True}
    for nothing in (b"def f(x):\n    pass\n", b"import os\ndef f(x):\n    os._exit(0)\n", b"", b"f = None"):
        assert not any(passed(grader.grade({"solution.py": nothing}, tests[1:])).values())


def test_test_code_is_not_fooled_by_objects_equal_to_everything(grader: Grader) -> None:
    source = b"class A:\n    def __eq__(self, other):\n        return True\ndef f(x):\n    return A()\n"
    assert not any(passed(grader.grade({"solution.py": source}, harness(0, 1, 2))).values())


def test_test_code_may_make_objects_of_the_submission(grader: Grader) -> None:
    source = (
        b"class P:\n    def __init__(self, a):\n        self.a = a\ndef total(ps):\n    return sum(p.a for p in ps)\n"
    )
    case = Harness("solution", ("P", "total"), "assert total([P(1), P(2)]) == 3\nassert P(4).a == 4", 0)
    assert one(grader, source, case).passed


def test_test_code_that_asks_for_ever_ends(grader: Grader) -> None:
    case = Harness("solution", ("f",), "while True:\n    f(1)\nassert f(1) == 2", 0)
    assert one(grader, DOUBLE, case, limit_s=0.3).reason in ("timeout", "wrong")


def test_a_repositorys_own_tests_count_only_if_reported(grader: Grader) -> None:
    report = "== short test summary info ==\nPASSED t.py::a\nFAILED t.py::b - assert 0\nSKIPPED t.py::d\n"
    scripts: list[str] = []

    def run(script: str, timeout_s: float) -> RunResult:
        scripts.append(script)
        return RunResult(1, report)

    tests = [TestCase(name, NodeTest(f"t.py::{name}", "pytest -rA", {"t.py": "x"})) for name in "abcd"]
    assert passed(grader.grade({}, tests, run=run)) == {"a": True, "b": False, "c": False, "d": False}
    assert len(scripts) == 1
    assert scripts[0].endswith("pytest -rA")
    with pytest.raises(ConfigurationError, match=r"run=view\.run"):
        grader.grade({}, tests)


def test_a_suite_ends_at_its_limit(grader: Grader) -> None:
    source = b"import time\ndef f(x):\n    time.sleep(60)\n"
    tests = [call(f"t{n}", "f", n, expected=0) for n in range(50)]
    results = grader.grade({"solution.py": source}, tests, Limits(test_s=0.2, suite_s=0.5))
    assert len(results) == 50
    assert results["t49"].reason == "suite limit"


def test_hash_order_repeats(grader: Grader) -> None:
    source = b"def f():\n    return list({'a', 'b', 'c', 'd', 'e', 'f'})\n"
    orders = set()
    for _ in range(3):
        case = Calls("solution", (Step("f", expected=0),))
        orders.add(one(grader, source, case).detail)
    assert len(orders) == 1


def test_several_right_answers(grader: Grader) -> None:
    rule = Compare(accepts=lambda got: type(got) is int and got % 7 == 0)
    case = Calls("solution", (Step("f", (7,), expected=7),))
    assert one(grader, DOUBLE, case, compare=rule).passed
    assert not one(grader, b"def f(x):\n    return '7'\n", case, compare=rule).passed


def grade_anew(_: int = 0) -> dict[str, bool]:
    with Grader(Pool(spares=0)) as made:
        return passed(made.grade({"solution.py": DOUBLE}, TESTS))


GOOD = {"a": True, "b": True}


def test_same_from_threads(grader: Grader) -> None:
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: passed(grader.grade({"solution.py": DOUBLE}, TESTS)), range(8)))
    assert found == [GOOD] * 8


def test_same_from_asyncio(grader: Grader) -> None:
    async def both() -> list[dict[str, Result]]:
        here = grader.grade({"solution.py": DOUBLE}, TESTS)
        return [here, await asyncio.to_thread(grader.grade, {"solution.py": DOUBLE}, TESTS)]

    assert [passed(results) for results in asyncio.run(both())] == [GOOD, GOOD]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_same_from_other_processes(method: str) -> None:
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.map(grade_anew, [0]) == [GOOD]


def test_a_forked_child_uses_its_parents_grader_and_leaves_the_parent_alone(grader: Grader) -> None:
    grader.grade({"solution.py": DOUBLE}, TESTS)
    child = os.fork()
    if child == 0:
        good = passed(grader.grade({"solution.py": DOUBLE}, TESTS)) == GOOD
        grader._pool.close()
        os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert passed(grader.grade({"solution.py": DOUBLE}, TESTS)) == GOOD


def test_a_sandbox_killed_from_outside_is_no_verdict(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while the submission runs, the suite is graded again, on a new sandbox."""
    kills = iter([True])

    def doomed(*args: Any) -> Any:
        box = start(*args)
        if next(kills, False):
            init = processes.children(box.process.pid)[0]
            threading.Timer(0.2, os.kill, (init, signal.SIGKILL)).start()
        return box

    monkeypatch.setattr("agentenv.envs.code.grader.start", doomed)
    source = b"import time\ndef f(x):\n    time.sleep(0.5)\n    return x * 2\n"
    assert passed(grader.grade({"solution.py": source}, TESTS)) == GOOD


def test_a_sandbox_that_never_starts_is_the_platforms_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    with Pool(spares=0) as pool:
        monkeypatch.setattr("agentenv.envs.code.pool._BOOT", "raise SystemExit(1)")
        with pytest.raises(SandboxLostError, match="did not start"):
            Grader(pool).grade({"solution.py": DOUBLE}, TESTS)


def test_a_closed_pool_says_so() -> None:
    pool = Pool()
    pool.close()
    pool.close()
    with pytest.raises(ClosedEnvironmentError, match="closed"):
        pool.take()
