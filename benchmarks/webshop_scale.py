"""What a generated shop costs by size: making it, opening it from the cache, memory, a search, a product, a goal.

    python -m benchmarks.webshop_scale [--sizes 10000 100000] [--repeats 300]

Each size is made and opened in processes of its own, so that their memory and start-up are counted and nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.timing import machine

SIZES = (10_000, 100_000)
REPEATS = 300
TARGETS = "Targets: 10,000 products made in under 10 s; 100,000 open in under 5 s, under 600 MB, search under 10 ms."


def resident_mb() -> float:
    """Memory of this process now, mapped files that it has touched included."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def peak_mb() -> float:
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1e3


def make(size: int, cache: str) -> dict[str, float]:
    """Makes store and index in an empty cache."""
    start, start_cpu = time.perf_counter(), time.process_time()
    from agentenv.tasks.webshop.generated import GeneratedGoals

    len(GeneratedGoals(size, cache=cache).catalogue.index)
    return {
        "make_s": time.perf_counter() - start,
        "make_cpu_s": time.process_time() - start_cpu,
        "make_peak_mb": peak_mb(),
    }


def use(size: int, cache: str, repeats: int) -> dict[str, float]:
    """Opens what was made, imports included, up to the first search; then plays."""
    start = time.perf_counter()
    from agentenv.tasks.webshop.generated import GeneratedGoals

    goals = GeneratedGoals(size, cache=cache)
    goals.catalogue.search("over ear headphones")
    open_s = time.perf_counter() - start
    ids = goals.ids("test")
    drawn = [timed_ms(lambda task_id=task_id: goals.goal(task_id)) for task_id in ids[:repeats]]
    keywords = [goals.oracle(task_id)[0][len("search[") : -1] for task_id in ids[:repeats]]
    searches = [timed_ms(lambda text=text: goals.catalogue.search(text)) for text in keywords]
    found = [asin for text in keywords[:20] for asin in goals.catalogue.search(text)]
    products = [timed_ms(lambda asin=asin: goals.catalogue.product(asin)) for asin in found[:repeats]]
    return {
        "open_s": open_s,
        "search_ms": statistics.median(searches),
        "search_p95_ms": sorted(searches)[int(0.95 * len(searches))],
        "product_ms": statistics.median(products),
        "goal_ms": statistics.median(drawn),
        "resident_mb": resident_mb(),
    }


def timed_ms(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - start)


def measured(role: str, size: int, cache: str, repeats: int) -> dict[str, float]:
    """The figures of a role, played in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.webshop_scale", "--role", role, "--sizes", str(size)]
    done = subprocess.run(
        [*command, "--cache", cache, "--repeats", str(repeats)], stdout=subprocess.PIPE, text=True, check=True
    )
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def table(sizes: Sequence[int] = SIZES, repeats: int = REPEATS) -> Table:
    names = {
        "make_s": "made, s",
        "make_cpu_s": "CPU, s",
        "make_peak_mb": "peak, MB",
        "disk_mb": "disk, MB",
        "open_s": "open, s",
        "search_ms": "search, ms",
        "search_p95_ms": "p95, ms",
        "product_ms": "product, ms",
        "goal_ms": "goal, ms",
        "resident_mb": "resident, MB",
    }
    figures = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as cache:
            figures[size] = measured("make", size, cache, repeats)
            disk = sum(path.stat().st_size for path in Path(cache).rglob("*") if path.is_file())
            figures[size] |= {"disk_mb": disk / 1e6, **measured("use", size, cache, repeats)}
    made = Table("products", *(f"{size:,}" for size in sizes), title="Generated shop by size", caption=TARGETS)
    for name, heading in names.items():
        made.add_row(heading, *(f"{figures[size][name]:.3g}" for size in sizes))
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--role", choices=["make", "use"], help=argparse.SUPPRESS)
    parser.add_argument("--cache", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.role == "make":
        print(json.dumps(make(arguments.sizes[0], arguments.cache)))
    elif arguments.role == "use":
        print(json.dumps(use(arguments.sizes[0], arguments.cache, arguments.repeats)))
    else:
        console = Console()
        console.print(machine())
        console.print(table(arguments.sizes, arguments.repeats))


if __name__ == "__main__":
    main()
