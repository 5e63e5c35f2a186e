"""The unfinished results file. Invariant: an episode that was written is never played or counted again.

While an evaluation runs, each finished episode is one line appended to ``NAME.partial``; a process killed at any moment
loses the episodes in flight and at most a torn last line. The next run with the same header reads the lines back; with
another header it refuses rather than mix two evaluations.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from agentenv.errors import AgentEnvError, ConfigurationError, ResultsFileError
from agentenv.evaluation.fields import Fields, loads_strict
from agentenv.evaluation.results import EpisodeRecord, Header, Results, dumps_strict, read_results

__all__ = ["Journal", "partial_path"]


def partial_path(out: Path) -> Path:
    """Where the unfinished results of `out` are kept.

    >>> partial_path(Path("runs/test.json")).name
    'test.json.partial'
    """
    return out.with_name(out.name + ".partial")


class Journal:
    """The records of a running evaluation, on disk as they come in. Use `Journal.open`."""

    def __init__(self, file: TextIO, path: Path, records: dict[tuple[str, int], EpisodeRecord]) -> None:
        self._file = file
        self._path = path
        self.records = records

    @classmethod
    @contextmanager
    def open(cls, out: Path, header: Header) -> Iterator[Journal]:
        """Opens or resumes the journal of a results file; one process at a time.

        Raises:
            ConfigurationError: If the file at `out` or its journal is of another evaluation, or is being written.
            ResultsFileError: If either is damaged, or cannot be written.
        """
        if not out.name or out.is_dir():
            raise ConfigurationError(
                f"results go into a file, and {str(out)!r} is none: name one, such as results.json"
            )
        path = partial_path(out)
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("a+", encoding="utf-8", newline="\n")
        except OSError as error:
            raise ResultsFileError(f"{path} cannot be written: {error.strerror or error}") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise ConfigurationError(
                    f"another evaluation is writing {out}: wait for it, or name another file"
                ) from error
            records: dict[tuple[str, int], EpisodeRecord] = {}
            if out.exists():
                try:
                    finished = read_results(out)
                    _require_same(finished.header, header, out)
                except AgentEnvError:
                    if path.stat().st_size == 0:
                        path.unlink()  # made by this call, for a file that it may not touch
                    raise
                records.update((record.key, record) for record in finished.records)
            yield cls(file, path, {**records, **_resume(file, path, header, out)})

    def add(self, record: EpisodeRecord) -> None:
        """Keeps an episode, durably; one that is there already is not written again.

        Raises:
            ResultsFileError: If it cannot be written.
        """
        if record.key not in self.records:
            _append(self._file, self._path, dumps_strict({"record": record.to_json()}))
            self.records[record.key] = record

    def finish(self) -> None:
        """Removes the journal, once the results file itself is in place."""
        self._path.unlink(missing_ok=True)


def _resume(file: TextIO, path: Path, header: Header, out: Path) -> dict[tuple[str, int], EpisodeRecord]:
    file.seek(0)
    try:
        text = file.read()
    except UnicodeDecodeError as error:
        raise ResultsFileError(f"{path}: not UTF-8 text ({error})") from error
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.truncate(len(whole.encode("utf-8")))
    lines = whole.split("\n")[:-1]
    if not lines:
        _append(file, path, dumps_strict({"header": header.to_json()}))
        return {}
    records: dict[tuple[str, int], EpisodeRecord] = {}
    planned = set(Results(header, ()).planned())
    for number, line in enumerate(lines, start=1):
        where = f"{path}:{number}"
        values = Fields.of(loads_strict(line, where), where)
        if number == 1:
            values.only(("header",))
            _require_same(Header.from_fields(values.object("header")), header, out)
            continue
        values.only(("record",))
        record = EpisodeRecord.from_fields(values.object("record"))
        if record.key not in planned:
            raise ResultsFileError(
                f"{where}: task {record.task_id!r:.120}, episode {record.episode} is not in the plan"
            )
        records.setdefault(record.key, record)
    return records


def _append(file: TextIO, path: Path, line: str) -> None:
    try:
        file.seek(0, os.SEEK_END)
        file.write(line + "\n")
        file.flush()
        os.fsync(file.fileno())
    except OSError as error:
        raise ResultsFileError(f"{path} cannot be written: {error.strerror or error}") from error


def _require_same(found: Header, wanted: Header, out: Path) -> None:
    differing = [name for name in Header.__dataclass_fields__ if getattr(found, name) != getattr(wanted, name)]
    if differing:
        shown = "; ".join(_difference(name, getattr(found, name), getattr(wanted, name)) for name in differing)
        raise ConfigurationError(
            f"{out} belongs to another evaluation ({shown}): name another file, or delete it (--overwrite)"
        )


def _difference(name: str, there: object, now: object) -> str:
    """Says how a field differs; of mappings, only the entries that do."""
    if isinstance(there, dict) and isinstance(now, dict):
        entries = [entry for entry in {**there, **now} if there.get(entry, ...) != now.get(entry, ...)]
        return "; ".join(
            f"{name}[{entry!r}]: {_short(there[entry]) if entry in there else 'nothing'} there, "
            f"{_short(now[entry]) if entry in now else 'nothing'} now"
            for entry in entries
        )
    return f"{name}: {_short(there)} there, {_short(now)} now"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
