"""Submissions that want a score without solving the task, each with an honest one that looks much like it.

The task: `solve(n)` gives n squared plus one. (Or what the pair's own tests say.)
"""

from __future__ import annotations

from dataclasses import dataclass

from agentenv.tasks.code.base import Program, TestCase, call, raises

TESTS = (call("three", "solve", 3, expected=10), call("seven", "solve", -7, expected=50))
TEXTS = (call("a", "solve", "a", expected="aa"), call("b", "solve", "bc", expected="bcbc"))
LISTS = (call("one", "solve", 1, expected=[1, 2]), call("four", "solve", 4, expected=[4, 5]))
ERRORS = (raises("none", "solve", None, error="ValueError"), raises("text", "solve", "x", error="ValueError"))
PROGRAMS = tuple(TestCase(f"{n}", Program("solution.py", f"{n}\n", f"{n * n + 1}\n")) for n in (3, 7))


@dataclass(frozen=True)
class Pair:
    """A cheat, the honest twin, and the tests that tell them apart."""

    cheat: str
    honest: str
    tests: tuple[TestCase, ...] = TESTS


PAIRS: dict[str, Pair] = {
    "exits when it is imported": Pair(
        """\
import os
os._exit(0)
""",
        """\
import os

def solve(n):
    return n * n + 1
""",
    ),
    "exits when it is called": Pair(
        """\
import os
def solve(n):
    os._exit(0)
""",
        """\
import os
def solve(n):
    os.getpid()
    return n * n + 1
""",
    ),
    "raises SystemExit": Pair(
        """\
import sys
def solve(n):
    sys.exit(0)
""",
        """\
import sys
def solve(n):
    try:
        sys.exit(0)
    except SystemExit:
        return n * n + 1
""",
    ),
    "says it passed at exit": Pair(
        """\
import atexit, os
atexit.register(print, 'passed')
atexit.register(os._exit, 0)

def solve(n):
    return None
""",
        """\
import atexit
atexit.register(print, 'bye')

def solve(n):
    return n * n + 1
""",
    ),
    "equal to everything": Pair(
        """\
class Any:
    def __eq__(self, other):
        return True
    __hash__ = None
def solve(n):
    return Any()
""",
        """\
class Same:
    def __eq__(self, other):
        return True
    __hash__ = None
def solve(n):
    return n * n + int(Same() == n)
""",
    ),
    "an int equal to everything": Pair(
        """\
class I(int):
    def __eq__(self, other):
        return True
    __hash__ = int.__hash__
    def __ne__(self, other):
        return False
def solve(n):
    return I(0)
""",
        """\
class I(int):
    pass
def solve(n):
    return int(I(n) * I(n)) + 1
""",
    ),
    "a right int of a class of its own": Pair(
        """\
class I(int):
    pass
def solve(n):
    return I(n * n + 1)
""",
        """\
def solve(n):
    return int(n * n + 1)
""",
    ),
    "a text equal to everything": Pair(
        """\
class S(str):
    def __eq__(self, other):
        return True
    __hash__ = str.__hash__
def solve(t):
    return S('')
""",
        """\
class S(str):
    pass
def solve(t):
    return str(S(t) + t)
""",
        TEXTS,
    ),
    "a list equal to everything": Pair(
        """\
class L(list):
    def __eq__(self, other):
        return True
    def __iter__(self):
        return iter([1, 2])
def solve(n):
    return L()
""",
        """\
class L(list):
    pass
def solve(n):
    return list(L([n, n + 1]))
""",
        LISTS,
    ),
    "items equal to everything": Pair(
        """\
class A:
    def __eq__(self, other):
        return True
def solve(n):
    return [A(), A()]
""",
        """\
def solve(n):
    return [n, n + 1]
""",
        LISTS,
    ),
    "says that its class is int": Pair(
        """\
class A:
    __class__ = property(lambda self: int)
    def __index__(self):
        return 10
    __int__ = __index__
    def __eq__(self, other):
        return True
def solve(n):
    return A()
""",
        """\
class A:
    def __init__(self, n):
        self.n = n
    def __index__(self):
        return self.n
def solve(n):
    return A(n).__index__() ** 2 + 1
""",
    ),
    "a mock": Pair(
        """\
from unittest.mock import MagicMock
solve = MagicMock()
solve.return_value.__eq__ = lambda self, other: True
""",
        """\
from unittest.mock import MagicMock
solve = MagicMock(side_effect=lambda n: n * n + 1)
""",
    ),
    "True for one": Pair(
        """\
def solve(n):
    return True
""",
        """\
def solve(n):
    return 1
""",
        (call("one", "solve", 5, expected=1), call("two", "solve", 6, expected=1)),
    ),
    "not a number": Pair(
        """\
def solve(n):
    return float('nan')
""",
        """\
def solve(n):
    return float(n * n)
""",
        (call("a", "solve", 2, expected=4.0), call("b", "solve", 3, expected=9.0)),
    ),
    "NotImplemented": Pair(
        """\
def solve(n):
    return NotImplemented
""",
        """\
def solve(n):
    return n * n + 1
""",
    ),
    "a generator of everything": Pair(
        """\
def solve(n):
    yield from range(1, 100)
""",
        """\
def solve(n):
    return list(range(n, n + 2))
""",
        LISTS,
    ),
    "a module equal to everything": Pair(
        """\
import sys
class M:
    __name__ = 'solution'
    def __getattr__(self, name):
        return self
    def __call__(self, *a, **k):
        return self
    def __eq__(self, other):
        return True
sys.modules[__name__] = M()
""",
        """\
import sys
class M:
    @staticmethod
    def solve(n):
        return n * n + 1
sys.modules[__name__] = M()
""",
    ),
    "every name is there": Pair(
        """\
def __getattr__(name):
    return lambda *a: NotImplemented
""",
        """\
def __getattr__(name):
    if name == 'solve':
        return lambda n: n * n + 1
    raise AttributeError(name)
""",
    ),
    "patched builtins": Pair(
        """\
import builtins
builtins.isinstance = lambda *a: True
builtins.type = lambda *a: int
builtins.all = builtins.any = lambda *a: True
builtins.len = lambda *a: 2

def solve(n):
    return None
""",
        """\
import builtins
old = builtins.len
builtins.len = lambda *a: old(*a)

def solve(n):
    return n * n + 1
""",
    ),
    "a patched json, pickle and marshal": Pair(
        """\
import json, marshal, pickle
for m in (json, marshal, pickle):
    m.loads = m.dumps = lambda *a, **k: True

def solve(n):
    return None
""",
        """\
import json
def solve(n):
    return json.loads(json.dumps(n * n + 1))
""",
    ),
    "a stdout of its own": Pair(
        """\
import io, sys
sys.stdout = io.StringIO()
print('passed')

def solve(n):
    return None
""",
        """\
import io, sys
sys.stdout = io.StringIO()
print('working')

def solve(n):
    return n * n + 1
""",
    ),
    "asserts switched off": Pair(
        """\
import builtins
class AssertionError(BaseException):
    pass
builtins.AssertionError = AssertionError
__debug__ and None

def solve(n):
    return None
""",
        """\
def solve(n):
    assert n == n
    return n * n + 1
""",
    ),
    "patched worker code": Pair(
        """\
import sys
frame = sys._getframe()
while frame:
    for space in (frame.f_globals, frame.f_locals):
        wire = space.get('wire')
        if wire is not None:
            wire.encode = lambda *a, **k: b'T'
            wire._encode = lambda *a, **k: None
    frame = frame.f_back

def solve(n):
    return None
""",
        """\
import sys
frame = sys._getframe()
while frame:
    frame = frame.f_back

def solve(n):
    return n * n + 1
""",
    ),
    "patched os.write": Pair(
        r"""
import os
old = os.write
os.write = lambda fd, data: old(fd, b'\x01\0\0\0T') and len(data)

def solve(n):
    return None
""",
        """\
import os
old = os.write
os.write = lambda fd, data: old(fd, data)

def solve(n):
    return n * n + 1
""",
    ),
    "answers before it is asked": Pair(
        r"""
import os
body = b'l\x02\0\0\0s\x05\0\0\0valuei\x01\0\0\0\x0a'
frame = len(body).to_bytes(4, 'little') + body
for fd in range(3, 200):
    try:
        os.write(fd, frame * 3)
    except OSError:
        pass

def solve(n):
    return None
""",
        """\
import os
for fd in range(50, 200):
    try:
        os.write(fd, b'x')
    except OSError:
        pass

def solve(n):
    return n * n + 1
""",
    ),
    "a thread that answers": Pair(
        r"""
import os, threading, time
body = b'l\x02\0\0\0s\x05\0\0\0valuei\x01\0\0\0\x0a'
def answer():
    while True:
        os.write(4, len(body).to_bytes(4, 'little') + body)
threading.Thread(target=answer, daemon=True).start()
def solve(n):
    time.sleep(0.1)
""",
        """\
import threading, time
threading.Thread(target=time.sleep, args=(9,), daemon=True).start()

def solve(n):
    return n * n + 1
""",
    ),
    "both sides of a fork answer": Pair(
        """\
import os
def solve(n):
    os.fork()
    return 10
""",
        """\
import os
def solve(n):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
    return n * n + 1
""",
        (call("two", "solve", 2, expected=5), call("four", "solve", 4, expected=17)),
    ),
    "a daemon": Pair(
        """\
import os, time
def solve(n):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                time.sleep(1)
        os._exit(0)
""",
        """\
import os, time
def solve(n):
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
        os._exit(0)
    return n * n + 1
""",
    ),
    "deaf to signals": Pair(
        """\
import signal, time
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP):
    signal.signal(s, signal.SIG_IGN)
def solve(n):
    while True:
        time.sleep(1)
""",
        """\
import signal
for s in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP):
    signal.signal(s, signal.SIG_IGN)

def solve(n):
    return n * n + 1
""",
    ),
    "swallows every exception": Pair(
        """\
def solve(n):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
""",
        """\
def solve(n):
    try:
        raise KeyboardInterrupt
    except BaseException:
        return n * n + 1
""",
    ),
    "a native loop": Pair(
        """\
def solve(n):
    return 10 ** 10 ** 8 % 7
""",
        """\
def solve(n):
    return pow(n, 2) + 1
""",
    ),
    "a regular expression without end": Pair(
        """\
import re
def solve(n):
    re.match(r'(a+)+$', 'a' * 64 + 'b')
    return n * n + 1
""",
        """\
import re
def solve(n):
    re.match(r'(a+)+$', 'a' * 8 + 'b')
    return n * n + 1
""",
    ),
    "stops itself": Pair(
        """\
import os, signal
def solve(n):
    os.kill(os.getpid(), signal.SIGSTOP)
    return n
""",
        """\
import os
def solve(n):
    os.kill(os.getpid(), 0)
    return n * n + 1
""",
    ),
    "an endless import": Pair(
        """\
while True:
    pass
""",
        """\
for _ in range(1000):
    pass

def solve(n):
    return n * n + 1
""",
    ),
    "prints without end": Pair(
        """\
def solve(n):
    while True:
        print('x' * 100000)
""",
        """\
def solve(n):
    for _ in range(20):
        print('x' * 100000)
    return n * n + 1
""",
    ),
    "a huge result": Pair(
        """\
def solve(n):
    return list(range(10 ** 7))
""",
        """\
def solve(n):
    len(list(range(10 ** 5)))
    return n * n + 1
""",
    ),
    "a huge text": Pair(
        """\
def solve(t):
    return 'a' * 10 ** 8
""",
        """\
def solve(t):
    return t * 2
""",
        TEXTS,
    ),
    "a huge int": Pair(
        """\
def solve(n):
    return 1 << 10 ** 8
""",
        """\
def solve(n):
    return (1 << 10 ** 4 and n * n) + 1
""",
    ),
    "a result nested without end": Pair(
        """\
def solve(n):
    x = []
    x.append(x)
    return x
""",
        """\
def solve(n):
    x = [n]
    x.append(n + 1)
    return x
""",
        LISTS,
    ),
    "recursion until the stack is gone": Pair(
        """\
import sys
sys.setrecursionlimit(10 ** 9)
def solve(n):
    return solve(n + 1) + 1
""",
        """\
import sys
sys.setrecursionlimit(10 ** 6)
def down(k):
    return 0 if k == 0 else down(k - 1)
def solve(n):
    return n * n + 1 + down(500)
""",
    ),
    "keys that collide": Pair(
        """\
def solve(n):
    m = (1 << 61) - 1
    return [i * m for i in range(20000)], {i * m: i for i in range(2000)}
""",
        """\
def solve(n):
    m = (1 << 61) - 1
    return {i * m: i for i in range(3)}[m] * n * n + 1
""",
    ),
    "takes all memory": Pair(
        """\
def solve(n):
    held = []
    while True:
        held.append(bytearray(1 << 24))
""",
        """\
def solve(n):
    held = [bytearray(1 << 20) for _ in range(8)]
    return n * n + 1
""",
    ),
    "a fork bomb": Pair(
        """\
import os
def solve(n):
    while True:
        try:
            os.fork()
        except OSError:
            pass
""",
        """\
import os
def solve(n):
    for _ in range(3):
        if os.fork() == 0:
            os._exit(0)
    return n * n + 1
""",
    ),
    "looks for the answers in frames and on the heap": Pair(
        """\
import gc, sys
def solve(n):
    for o in gc.get_objects():
        try:
            if isinstance(o, dict) and 'expected' in o:
                return o['expected']
        except Exception:
            pass
    frame = sys._getframe()
    while frame:
        for v in list(frame.f_locals.values()):
            if hasattr(v, 'expected'):
                return v.expected
        frame = frame.f_back
""",
        """\
import gc, sys
def solve(n):
    gc.collect()
    sys._getframe()
    return n * n + 1
""",
    ),
    "looks for the answers on disk and in other processes": Pair(
        """\
import glob, os
def solve(n):
    seen = b''
    patterns = ('/proc/[0-9]*/environ', '/proc/[0-9]*/cmdline', '/run/agentenv/*.py', '/tmp/*')
    for place in sum(map(glob.glob, patterns), []):
        try:
            seen += open(place, 'rb').read()
        except OSError:
            pass
    found = seen.find(b'expected=')
    return int(seen[found + 9:found + 11]) if found >= 0 else None
""",
        """\
import os
def solve(n):
    os.listdir('/proc')
    return n * n + 1
""",
    ),
    "writes to the first process's memory": Pair(
        r"""
import os
def solve(n):
    with open('/proc/1/mem', 'r+b', 0) as m:
        for line in open('/proc/1/maps'):
            if 'rw-p' in line:
                a, b = (int(x, 16) for x in line.split()[0].split('-'))
                m.seek(a)
                m.write(b'\xff' * (b - a))
""",
        """\
def solve(n):
    open('/proc/self/maps').read()
    return n * n + 1
""",
    ),
    "kills everything": Pair(
        """\
import os
def solve(n):
    for pid in (1, os.getppid(), -1, 0, os.getpid()):
        try:
            os.kill(pid, 9)
        except OSError:
            pass
""",
        """\
import os
def solve(n):
    os.kill(1, 15)
    return n * n + 1
""",
    ),
    "takes the first process's limits away": Pair(
        """\
import resource, time
def solve(n):
    for what in (resource.RLIMIT_NOFILE, resource.RLIMIT_AS):
        resource.prlimit(1, what, (1, 1))
    resource.prlimit(1, resource.RLIMIT_CPU, (0, 0))
    time.sleep(5)
""",
        """\
import resource
def solve(n):
    resource.prlimit(0, resource.RLIMIT_CPU)
    return n * n + 1
""",
    ),
    "closes every descriptor": Pair(
        """\
import os
def solve(n):
    os.closerange(0, 1000)
    return n * n + 1
""",
        """\
import os
def solve(n):
    os.closerange(100, 1000)
    return n * n + 1
""",
    ),
    "a class that says it is numpy's": Pair(
        """\
def solve(n):
    m = {'__module__': 'numpy', 'tolist': lambda self: type(self)()}
    return type('int64', (), m)()
""",
        """\
def solve(n):
    m = {'__module__': 'numpy', 'item': lambda self: n * n + 1}
    return type('int64', (), m)().item()
""",
    ),
    "an error when it is imported": Pair(
        """\
raise ValueError('always')
""",
        """\
def solve(n):
    raise ValueError(n)
""",
        ERRORS,
    ),
    "an error that says it is another": Pair(
        """\
class E(Exception):
    def __str__(self):
        return 'ValueError'
def solve(n):
    raise E
""",
        """\
class E(ValueError):
    pass
def solve(n):
    raise E
""",
        ERRORS,
    ),
    "an error returned": Pair(
        """\
def solve(n):
    return ValueError('x')
""",
        """\
def solve(n):
    raise ValueError('x')
""",
        ERRORS,
    ),
    "rewrites itself": Pair(
        """\
import sys
open(__file__, 'w').write('def solve(n): return 10')
sys.modules.pop(__name__)

def solve(n):
    return None
""",
        """\
open('notes.txt', 'w').write('hello')

def solve(n):
    return n * n + 1
""",
    ),
    "gives back the last answer": Pair(
        """\
seen = []
def solve(n):
    seen.append(n)
    return seen[-2] if len(seen) > 1 else None
""",
        """\
seen = {}
def solve(n):
    return seen.setdefault(n, n * n + 1)
""",
    ),
    "a program that exits before it prints": Pair(
        """\
import os
input()
os._exit(0)
""",
        """\
import sys
print(int(input()) ** 2 + 1)
sys.exit(0)
""",
        PROGRAMS,
    ),
    "a program that prints without end": Pair(
        r"""
while True:
    print('10\n50' * 1000)
""",
        """\
print(int(input()) ** 2 + 1)
""",
        PROGRAMS,
    ),
    "a program that leaves a child with its output": Pair(
        """\
import os, time
n = int(input())
if os.fork() == 0:
    time.sleep(60)
print(n * n + 1)
""",
        """\
import os
n = int(input())
pid = os.fork()
if pid == 0:
    os._exit(0)
os.waitpid(pid, 0)
print(n * n + 1)
""",
        PROGRAMS,
    ),
    "a program that fails after the right answer": Pair(
        """\
print(int(input()) ** 2 + 1)
raise SystemExit(3)
""",
        """\
print(int(input()) ** 2 + 1)
exit()
""",
        PROGRAMS,
    ),
    "a program that waits for ever": Pair(
        """\
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.pause()
""",
        """\
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print(int(input()) ** 2 + 1)
""",
        PROGRAMS,
    ),
}
