"""Medians of repeated calls, interleaved so that a busy moment hits every contender alike."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping

__all__ = ["interleaved_ms", "machine"]


def interleaved_ms(contenders: Mapping[str, Callable[[], object]], repeats: int, warmup: int = 3) -> dict[str, float]:
    """Median milliseconds of each contender, called in turn `repeats` times after `warmup` untimed rounds."""
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    gc.collect()
    for round_number in range(warmup + repeats):
        for name, call in contenders.items():
            start = time.perf_counter()
            call()
            elapsed = time.perf_counter() - start
            if round_number >= warmup:
                samples[name].append(1000 * elapsed)
    return {name: statistics.median(values) for name, values in samples.items()}


def machine() -> str:
    """One line that says what this was measured on."""
    import os
    import platform

    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            model = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{os.cpu_count()} x {model}, Python {platform.python_version()}, {platform.system()} {platform.release()}"
