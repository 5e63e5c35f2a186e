"""The task set that a string names. Invariant: a string and the files it names decide the tasks, nothing else does.

    generated       (options: size, seed, kinds)
    hotpotqa:FILE   2wiki:FILE   musique:FILE   bamboogle:FILE   search_r1:FILE   browsecomp_plus:FILE
    jsonl:FILE      (any table: JSONL, JSON, CSV, parquet)       datasets:NAME_OR_FOLDER

Options follow a `?`, as in an URL: `hotpotqa:dev.json?split=test&corpus=pooled`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from agentenv.errors import ConfigurationError, UnknownTaskError, did_you_mean
from agentenv.task import SPLITS
from agentenv.tasks.search.answers import RULES
from agentenv.tasks.search.base import Question
from agentenv.tasks.search.official.episodes import BENCHMARKS, Benchmark
from agentenv.tasks.search.readers.bamboogle import bamboogle
from agentenv.tasks.search.readers.browsecomp_plus import browsecomp_plus
from agentenv.tasks.search.readers.columns import COLUMNS, columns, dataset_rows, questions_of
from agentenv.tasks.search.readers.corpora import corpus_of
from agentenv.tasks.search.readers.hotpotqa import hotpotqa, two_wiki
from agentenv.tasks.search.readers.musique import musique
from agentenv.tasks.search.readers.question_set import QuestionSet, pooled, split_by_text
from agentenv.tasks.search.readers.search_r1 import search_r1

if TYPE_CHECKING:
    from agentenv.tasks.search.generated import GeneratedQuestions

__all__ = ["FORMATS", "Format", "load"]

Options = Mapping[str, str]

_GENERATED = "generated"
_OWN, _POOLED = "own", "pooled"
_GENERATED_OPTIONS = ("size", "seed", "kinds")
_COMMON_OPTIONS = ("split", "corpus")
_KEPT = 4


@dataclass(frozen=True)
class Format:
    """How a kind of file becomes questions.

    Args:
        read: Questions of what stands before the `?`, and the options after it.
        options: Names of the options that `read` knows, besides `split` and `corpus`.
        by_title: Evidence in a foreign corpus can be told by the titles of its documents.
        names_splits: The questions come in their splits.
        corpus: "own" paragraphs, or all of the file "pooled", unless the option says otherwise.
    """

    read: Callable[[str, Options], Iterable[Question]]
    options: tuple[str, ...] = ()
    by_title: bool = False
    names_splits: bool = False
    corpus: str = _OWN


def load(
    tasks: str, *, difficulty: str | None = None, answer_rule: str = "exact", foreign_corpus: bool = False
) -> GeneratedQuestions | QuestionSet:
    """The task set that a string names; the same object again for the same arguments and untouched files.

    Args:
        tasks: See the module's own text. Options of all files: `split`, the split that all questions are in (without
            it, a question's text decides); `corpus`: "own" (each question's paragraphs), "pooled" (all of them
            together), or a file of documents. Of `2wiki`: `aliases`, its further names by Wikidata
            id, for its own script only. Of `browsecomp_plus`: `canary`, `canary_file` and `qrels`. Of `jsonl` and
            `datasets`: `id`, `question`, `answer`, `evidence`, `bridges`, `documents`, `kind`, `difficulty`, each the
            name of a column; and of `datasets`: `config` and `part`.
        difficulty: Only tasks of this difficulty.
        answer_rule: "exact", "f1", "contains" or "squad_em".
        foreign_corpus: Documents come from a retrieval server, so that evidence is known by title.

    Raises:
        UnknownTaskError: If no task set has this name.
        ConfigurationError: On an unknown option, rule or difficulty, or a file that is not there.
        DataFileError: If a file breaks its format.

    >>> load("hotpotqa")
    Traceback (most recent call last):
    agentenv.errors.ConfigurationError: tasks='hotpotqa' needs a file: 'hotpotqa:FILE'
    """
    if answer_rule not in RULES:
        raise ConfigurationError(
            f"answer_rule={answer_rule!r} is not one of {', '.join(RULES)}.{did_you_mean(answer_rule, RULES)}"
        )
    name, _, rest = tasks.partition(":")
    if tasks.partition("?")[0] == _GENERATED:
        options = _parted(tasks)[1]
        _check(_GENERATED, options, _GENERATED_OPTIONS)
        return _generated(tuple(sorted(options.items())), difficulty, answer_rule)
    if name not in FORMATS:
        known = (_GENERATED, *FORMATS)
        raise UnknownTaskError(
            f"tasks={tasks!r} is not a known task set.{did_you_mean(name, known)} Known: {_GENERATED}, "
            + ", ".join(f"{format}:FILE" for format in FORMATS)
        )
    source, options = _parted(rest)
    if not source:
        raise ConfigurationError(f"tasks={tasks!r} needs a file: '{name}:FILE'")
    _check(name, options, (*_COMMON_OPTIONS, *FORMATS[name].options))
    files = [source, *(options[key] for key in ("corpus", "canary_file", "qrels", "aliases") if key in options)]
    return _read(name, source, tuple(sorted(options.items())), difficulty, answer_rule, foreign_corpus, _stamps(files))


@lru_cache(maxsize=_KEPT)
def _generated(pairs: Sequence[tuple[str, str]], difficulty: str | None, answer_rule: str) -> GeneratedQuestions:
    from agentenv.tasks.search.generated import GeneratedQuestions

    numbers: dict[str, int] = {}
    kinds: list[str] | None = None
    for key, value in pairs:
        if key == "kinds":
            kinds = value.split(",")
        elif value.isascii() and value.isdigit():
            numbers[key] = int(value)
        else:
            raise ConfigurationError(f"option {key}={value!r} of {_GENERATED!r} is no number")
    return GeneratedQuestions(kinds, difficulty, answer_rule=answer_rule, **numbers)


# A task set is made of immutable values, so that one may serve every environment of a process. The stamps are a part of
# the key: a file that changed is read again.
@lru_cache(maxsize=_KEPT)
def _read(
    name: str,
    source: str,
    pairs: Sequence[tuple[str, str]],
    difficulty: str | None,
    answer_rule: str,
    foreign_corpus: bool,
    stamps: Sequence[tuple[int, int]],
) -> QuestionSet:
    format, options = FORMATS[name], dict(pairs)
    questions = [_in_split(question, format, options) for question in format.read(source, options)]
    choice = options.get("corpus", format.corpus)
    corpus, foreign = None, foreign_corpus
    if choice == _POOLED and any(question.documents is not None for question in questions):
        questions, corpus = pooled(questions)
    elif choice == _POOLED and "corpus" in options:
        raise ConfigurationError(f"corpus={_POOLED}: no question of {source!r} has documents of its own")
    elif choice not in (_OWN, _POOLED):
        corpus, foreign = corpus_of(Path(choice)), True
        questions = [replace(question, documents=None) for question in questions]
    aliases = Path(options["aliases"]) if "aliases" in options else None
    benchmark = Benchmark(name, Path(source), aliases, numbered=not foreign) if name in BENCHMARKS else None
    return QuestionSet(
        f"{name}:{Path(source).name}",
        questions,
        corpus=corpus,
        answer_rule=answer_rule,
        difficulty=difficulty,
        evidence_by_title=foreign and format.by_title,
        benchmark=benchmark,
    )


def _parted(rest: str) -> tuple[str, dict[str, str]]:
    """A file's name and the options; a `?` that no `key=value` follows is a part of the name."""
    source, mark, tail = rest.rpartition("?")
    if not mark or "=" not in tail:
        return rest, {}
    pairs = parse_qsl(tail, keep_blank_values=True)
    if len(dict(pairs)) != len(pairs):
        raise ConfigurationError(f"an option stands twice in {tail!r}")
    return source, dict(pairs)


def _check(name: str, options: Options, known: Sequence[str]) -> None:
    for key, value in options.items():
        if key not in known:
            raise ConfigurationError(
                f"option {key!r} of {name!r} is not known.{did_you_mean(key, known)} Known: {', '.join(known)}"
            )
        if not value:
            raise ConfigurationError(f"option {key!r} of {name!r} has no value")
    if options.get("split", SPLITS[0]) not in SPLITS:
        raise ConfigurationError(f"split={options['split']!r} is not one of {', '.join(SPLITS)}")


def _stamps(files: Sequence[str]) -> tuple[tuple[int, int], ...]:
    found = [Path(file).stat() for file in files if Path(file).is_file()]
    return tuple((stat.st_size, stat.st_mtime_ns) for stat in found)


def _in_split(question: Question, format: Format, options: Options) -> Question:
    if "split" in options:
        return replace(question, split=options["split"])
    return question if format.names_splits else replace(question, split=split_by_text(question.text))


def _named(options: Options) -> dict[str, str]:
    return {part: options[part] for part in COLUMNS if part in options}


def _browsecomp_plus(source: str, options: Options) -> Iterable[Question]:
    canary = options.get("canary", "")
    if "canary_file" in options:
        try:
            canary = Path(options["canary_file"]).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"canary_file={options['canary_file']!r} cannot be read: {error}") from error
    relevance = Path(options["qrels"]) if "qrels" in options else None
    return browsecomp_plus(Path(source), canary=canary, relevance=relevance)


def _dataset(source: str, options: Options) -> Iterable[Question]:
    part = options.get("part", "train")
    rows = dataset_rows(source, config=options.get("config"), part=part)
    return questions_of(rows, f"{Path(source).name}-{part}", _named(options))


FORMATS: Mapping[str, Format] = {
    "hotpotqa": Format(lambda source, _: hotpotqa(Path(source)), by_title=True),
    "2wiki": Format(lambda source, _: two_wiki(Path(source)), ("aliases",), by_title=True),
    "musique": Format(lambda source, _: musique(Path(source)), by_title=True),
    "bamboogle": Format(lambda source, _: bamboogle(Path(source))),
    "search_r1": Format(lambda source, _: search_r1(Path(source)), names_splits=True),
    "browsecomp_plus": Format(_browsecomp_plus, ("canary", "canary_file", "qrels"), corpus=_POOLED),
    "jsonl": Format(lambda source, options: columns(Path(source), _named(options)), tuple(COLUMNS)),
    "datasets": Format(_dataset, (*COLUMNS, "config", "part")),
}
