"""`agentenv eval --format`: what episodes predict, and that the printed metrics are what the benchmarks' rules give.

`scored` below is written anew from the rules of the three official scripts, and shares no code with the package.
"""

from __future__ import annotations

import json
import re
import string
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentenv import cli
from agentenv.envs.search import SearchEnv
from agentenv.errors import ConfigurationError
from agentenv.evaluation.evaluate import evaluate
from agentenv.evaluation.official import official_score
from agentenv.evaluation.results import read_results
from agentenv.evaluation.verify import verify
from agentenv.policy.base import Prompt
from agentenv.policy.scripted import FixedPolicy
from agentenv.task import OfficialScore

SEARCH = "agentenv/Search-v0"


class Plans(FixedPolicy):
    """Plays the actions planned for each task, the last one again after their end."""

    def __init__(self, plans: Mapping[str, Sequence[str]]) -> None:
        super().__init__(["<answer>?</answer>"], name="plans")
        self._plans = plans

    def action(self, prompt: Prompt) -> str:
        actions = self._plans.get(prompt.task_id) or self._actions
        return actions[min(prompt.turn, len(actions) - 1)]


def opened(*titles: str, answer: str | None = None) -> list[str]:
    return [*(f"<open>{title}</open>" for title in titles), *([] if answer is None else [f"<answer>{answer}</answer>"])]


CONTEXT = [
    ["Ada Berg", ["Ada Berg grew up in Lund.", " She painted boats.", "", "She died in 1950."]],
    ["Lund", ["Lund is a town.", " The Orla runs through it."]],
    ["Orlando", ["A city with lakes."]],
]


def hotpot(question_id: str, answer: str, *facts: list[Any], **more: Any) -> dict[str, Any]:
    row = {"_id": question_id, "question": f"{question_id}?", "answer": answer, "type": "bridge", "level": "hard"}
    return {**row, "supporting_facts": list(facts), "context": CONTEXT, **more}


HOTPOT = [
    hotpot("exact", "the Orla", ["Ada Berg", 0], ["Lund", 1]),
    hotpot("half", "The Orla river", ["Orlando", 0]),
    hotpot("closed", "yes", ["Lund", 0], ["Orlando", 0]),
    hotpot("silent", "Lund", ["Ada Berg", 0]),
    hotpot("blank", "1.5", ["Lund", 0]),
]
HOTPOT_PLANS = {
    "exact": opened("Ada Berg", "Lund", answer="Orla"),
    "half": opened("Orlando", answer="Orla runs"),
    "closed": ["<search>town lakes city</search>", "<answer>yes, it has</answer>"],
    "silent": opened("Ada Berg"),
    "blank": ["<answer>15</answer>"],
}
WIKI = [
    hotpot("w1", "Northland", ["LUND", 1], evidences=[["Ada", "home", "Lund"]], evidences_id=[], answer_id="Q1"),
    hotpot("w2", "Lund", ["Lund", 0], ["Lund", 1], evidences=[["Ada", "home", "Lund"]], answer_id="Q2"),
]
WIKI[0]["context"] = [["LUND", CONTEXT[1][1]]]
WIKI_PLANS = {"w1": opened("LUND", answer="the Kingdom of Northland"), "w2": opened("Lund", answer="Lund town")}


def musique(question_id: str, *, answerable: bool, supporting: Sequence[int], answer: str = "Orla") -> dict[str, Any]:
    titles = ["Lund", "Ada Berg", "Lund", "Orlando"]
    paragraphs = [
        {"idx": n, "title": title, "paragraph_text": f"Text {n} of {title}.", "is_supporting": n in supporting}
        for n, title in enumerate(titles)
    ]
    row = {"id": question_id, "question": f"{question_id}?", "answer": answer, "answer_aliases": ["the river Orla"]}
    return {**row, "answerable": answerable, "paragraphs": paragraphs, "question_decomposition": []}


MUSIQUE = [
    musique("2hop__1_2", answerable=True, supporting=(1, 2)),
    musique("2hop__1_2", answerable=False, supporting=(1,)),
    musique("3hop1__3_4_5", answerable=True, supporting=(0, 1, 3)),
    musique("3hop1__3_4_5", answerable=False, supporting=(0,)),
]
MUSIQUE_PLANS = {
    "2hop__1_2": opened("Ada Berg", "Lund (2)", answer="river Orla"),
    "2hop__1_2 (2)": opened("Ada Berg", answer="unanswerable"),
    "3hop1__3_4_5": opened("Lund", "Orlando", answer="the Orla"),
    "3hop1__3_4_5 (2)": opened("Orlando"),
}


def written(folder: Path, name: str, rows: Sequence[Any]) -> Path:
    path = folder / name
    text = "\n".join(map(json.dumps, rows)) if path.suffix == ".jsonl" else json.dumps(list(rows))
    path.write_text(text + "\n", encoding="utf-8")
    return path


def played(folder: Path, source: str, plans: Mapping[str, Sequence[str]], **options: Any) -> tuple[OfficialScore, Path]:
    kwargs = {"tasks": source, "max_turns": 4}
    format = source.partition(":")[0]
    results = evaluate(Plans(plans), SEARCH, env_kwargs=kwargs, out=folder / "r.json", workers=2, **options)
    path = folder / ("p.jsonl" if format == "musique" else "p.json")
    return official_score(results, SearchEnv(split="test", **kwargs).task_set, format, path), path


# The official rules, again.


def words(text: str) -> list[str]:
    kept = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return [word for word in kept.split() if word not in ("a", "an", "the")]


def overlap(ours: list[Any], theirs: list[Any]) -> tuple[float, float]:
    left = list(theirs)
    hits = 0
    for one in ours:
        if one in left:
            left.remove(one)
            hits += 1
    return (hits / len(ours), hits / len(theirs)) if ours and theirs else (0.0, 0.0)


def f1_of(precision: float, recall: float) -> float:
    return 0.0 if precision + recall == 0 else 2 * precision * recall / (precision + recall)


def answered(ours: str, theirs: str) -> tuple[float, float, float]:
    same = float(words(ours) == words(theirs))
    closed = {("yes",), ("no",), ("noanswer",)}
    if not same and closed & {tuple(words(ours)), tuple(words(theirs))}:
        return 0.0, 0.0, 0.0
    return (same, *overlap(words(ours), words(theirs)))


def hotpot_scored(path: Path, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """hotpot_evaluate_v1.py, and for rows with evidences what 2Wiki's adds (no triples are predicted here)."""
    predictions = json.loads(path.read_text())
    wiki = "evidences" in rows[0]
    aliases = {"Q1": ["Kingdom of Northland"]}
    heads = ["", "sp_", "evi_", "joint_"] if wiki else ["", "sp_", "joint_"]
    totals = {head + name: 0.0 for head in heads for name in ("em", "f1", "prec", "recall")}

    def add(head: str, em: float, precision: float, recall: float) -> None:
        values = {"em": em, "f1": f1_of(precision, recall), "prec": precision, "recall": recall}
        for name, value in values.items():
            totals[head + name] += value

    for row in rows:
        parts = []
        if row["_id"] in predictions["answer"]:
            golds = [row["answer"], *aliases.get(row.get("answer_id", ""), [])]
            best = [answered(predictions["answer"][row["_id"]], gold) for gold in golds]
            part = max(best, key=lambda one: f1_of(*one[1:]))
            parts.append(part)
            add("", *part)
        if row["_id"] in predictions["sp"]:
            low: Callable[[str], str] = str.lower if wiki else str
            ours = {(low(title), number) for title, number in predictions["sp"][row["_id"]]}
            theirs = {(low(title), number) for title, number in row["supporting_facts"]}
            part = (float(ours == theirs), *overlap(list(ours), list(theirs)))
            parts.append(part)
            add("sp_", *part)
        if len(parts) == 2 and not wiki:
            (em, precision, recall), (sp_em, sp_precision, sp_recall) = parts
            add("joint_", em * sp_em, precision * sp_precision, recall * sp_recall)
    scale = 100 if wiki else 1
    means = {name: scale * total / len(rows) for name, total in totals.items()}
    return {name: round(value, 2) for name, value in means.items()} if wiki else means


def musique_scored(path: Path, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """MuSiQue's evaluate_v1.0.py."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["id"] for line in lines] == [row["id"] for row in rows]
    scores: dict[str, list[tuple[bool, bool, float, float, float]]] = {}
    for line, row in zip(lines, rows, strict=True):
        golds = [words(gold) for gold in (row["answer"], *row["answer_aliases"])]
        ours = words(line["predicted_answer"])
        em = float(ours in golds)
        f1 = max(f1_of(*overlap(ours, gold)) if ours and gold else float(ours == gold) for gold in golds)
        theirs = [paragraph["idx"] for paragraph in row["paragraphs"] if paragraph["is_supporting"]]
        support = f1_of(*overlap(line["predicted_support_idxs"], theirs))
        said = line["predicted_answerable"] == row["answerable"]
        scores.setdefault(row["id"], []).append((row["answerable"], said, em, f1, support))
    sure = [one for group in scores.values() for one in group if one[0]]
    means = {
        "answer_f1": sum(one[3] for one in sure) / len(sure),
        "answer_em": sum(one[2] for one in sure) / len(sure),
        "support_f1": sum(one[4] for one in sure) / len(sure),
    }
    if any(not row["answerable"] for row in rows):
        whole = [one for group in scores.values() if all(said for _, said, *_ in group) for one in group if one[0]]
        means["group_answer_sufficiency_f1"] = sum(one[3] for one in whole) / len(scores)
        means["group_support_sufficiency_f1"] = sum(one[4] for one in whole) / len(scores)
    return {name: round(value, 3) for name, value in means.items()}


# What is predicted.


def test_hotpot_predictions_are_the_answers_given_and_the_sentences_shown(tmp_path: Path) -> None:
    score, path = played(tmp_path, f"hotpotqa:{written(tmp_path, 'dev.json', HOTPOT)}?split=test", HOTPOT_PLANS)
    file = json.loads(path.read_text())
    assert file["answer"] == {"exact": "Orla", "half": "Orla runs", "closed": "yes, it has", "blank": "15"}
    ada = [["Ada Berg", 0], ["Ada Berg", 1], ["Ada Berg", 3]]
    assert file["sp"]["exact"] == [*ada, ["Lund", 0], ["Lund", 1]]
    assert file["sp"]["half"] == [["Orlando", 0]]
    assert sorted(file["sp"]["closed"]) == [["Lund", 0], ["Lund", 1], ["Orlando", 0]]
    assert (file["sp"]["silent"], file["sp"]["blank"]) == (ada, [])
    assert (score.questions, score.available) == (5, 5)
    assert score.metrics == pytest.approx(hotpot_scored(path, HOTPOT), abs=1e-12)
    assert 0 < score.metrics["joint_f1"] < score.metrics["f1"] < 1


def test_only_sentences_that_were_shown_whole_are_predicted(tmp_path: Path) -> None:
    sentences = [f"Sentence {n} is about boats and {'very ' * 30}long." for n in range(8)]
    row = hotpot("long", "boats", ["Long", 7], context=[["Long", sentences], *CONTEXT])
    tasks = f"hotpotqa:{written(tmp_path, 'dev.json', [row])}?split=test"
    env = SearchEnv(tasks=tasks, split="test", observation="compact")
    env.reset(seed=0)
    observation = env.step("<open>Long</open>")[0]
    whole = [n for n, sentence in enumerate(sentences) if sentence in observation]
    assert env.submission() == {"answer": None, "shown": {"Long": whole}}
    assert 0 < len(whole) < 8
    for _ in range(4):
        env.step("<open>Long</open>")
    assert set(env.submission()["shown"]["Long"]) > set(whole)
    env.close()


def test_wiki_predictions_have_no_triples_and_answers_count_under_their_aliases(tmp_path: Path) -> None:
    aliases = written(tmp_path, "ids.jsonl", [{"Q_id": "Q1", "aliases": ["Kingdom of Northland"], "demonyms": []}])
    tasks = f"2wiki:{written(tmp_path, 'dev.json', WIKI)}?split=test&aliases={aliases}"
    score, path = played(tmp_path, tasks, WIKI_PLANS)
    assert json.loads(path.read_text())["evidence"] == {}
    assert score.metrics == pytest.approx(hotpot_scored(path, WIKI), abs=1e-9)
    assert (score.metrics["em"], score.metrics["sp_em"], score.metrics["evi_f1"]) == (50.0, 50.0, 0.0)


def test_musique_predicts_paragraphs_and_whether_there_is_an_answer(tmp_path: Path) -> None:
    score, path = played(tmp_path, f"musique:{written(tmp_path, 'full.jsonl', MUSIQUE)}?split=test", MUSIQUE_PLANS)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["predicted_support_idxs"] for line in lines] == [[1, 2], [1], [0, 3], [3]]
    assert [line["predicted_answerable"] for line in lines] == [True, False, True, True]
    assert [line["predicted_answer"] for line in lines] == ["river Orla", "", "the Orla", ""]
    assert score.metrics == pytest.approx(musique_scored(path, MUSIQUE), abs=1e-12)
    assert 0 < score.metrics["group_answer_sufficiency_f1"] < score.metrics["answer_f1"]


def test_without_the_other_side_of_a_pair_sufficiency_is_not_scored(tmp_path: Path) -> None:
    tasks = f"musique:{written(tmp_path, 'full.jsonl', MUSIQUE)}?split=test"
    score, _ = played(tmp_path, tasks, MUSIQUE_PLANS, tasks=3)
    assert (set(score.metrics), score.questions) == ({"answer_f1", "answer_em", "support_f1"}, 2)
    assert score.metrics["answer_em"] == 1.0


def test_the_mean_is_over_the_planned_questions_in_the_order_of_the_file(tmp_path: Path) -> None:
    tasks = f"hotpotqa:{written(tmp_path, 'dev.json', HOTPOT)}?split=test"
    score, path = played(tmp_path, tasks, {"half": HOTPOT_PLANS["half"]}, tasks=2)
    assert (score.questions, score.available) == (2, 5)
    assert score.metrics == pytest.approx(hotpot_scored(path, HOTPOT[:2]), abs=1e-12)


def test_an_episode_that_the_platform_failed_counts_as_wrong(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    tasks = SearchEnv(tasks=f"musique:{written(tmp_path, 'full.jsonl', MUSIQUE)}?split=test", split="test").task_set
    score = tasks.write_official("musique", path, dict.fromkeys(tasks.ids("test")))
    assert set(score.metrics.values()) == {0.0}
    assert score.metrics == musique_scored(path, MUSIQUE)


@pytest.mark.parametrize("option", ["corpus=pooled", "corpus={}"])
def test_in_a_pool_sentences_keep_their_numbers_and_in_a_foreign_corpus_they_have_none(
    tmp_path: Path, option: str
) -> None:
    foreign = written(
        tmp_path, "corpus.jsonl", [{"id": title, "title": title, "text": "Text."} for title, _ in CONTEXT]
    )
    file = written(tmp_path, "dev.json", HOTPOT)
    score, path = played(tmp_path, f"hotpotqa:{file}?split=test&{option.format(foreign)}", HOTPOT_PLANS)
    predicted = json.loads(path.read_text())
    assert predicted["answer"]["exact"] == "Orla"
    assert score.metrics == pytest.approx(hotpot_scored(path, HOTPOT), abs=1e-12)
    assert predicted["sp"].get("half") == ([["Orlando", 0]] if "pooled" in option else None)


# The command.


def test_the_command_writes_the_file_next_to_the_results_and_prints_the_metrics(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kwargs = json.dumps({"tasks": f"hotpotqa:{written(tmp_path, 'dev.json', HOTPOT)}?split=test"})
    out = tmp_path / "r.json"
    command = ["eval", "oracle", "--env", SEARCH, "--env-kwargs", kwargs, "--format", "hotpotqa", "--out", str(out)]
    assert cli.main(command) == 0
    shown = re.sub(r" +", " ", capsys.readouterr().out)
    expected = hotpot_scored(tmp_path / "r-hotpotqa.json", HOTPOT)
    assert expected["em"] == expected["sp_recall"] == 1.0
    for name, value in expected.items():
        assert f"\n{name} {value:.6g}" in shown
    assert cli.main([*command, "--json"]) == 0
    official = json.loads(capsys.readouterr().out)["official"]
    assert official["metrics"] == pytest.approx(expected)


def test_what_is_predicted_can_be_verified(tmp_path: Path) -> None:
    tasks = f"hotpotqa:{written(tmp_path, 'dev.json', HOTPOT)}?split=test"
    played(tmp_path, tasks, HOTPOT_PLANS)
    out = tmp_path / "r.json"
    assert verify(out, allow=[tasks]).ok
    out.write_text(out.read_text().replace('"shown": {"Orlando": [0]}', '"shown": {"Orlando": []}'))
    assert read_results(out).records[1].submission == {"answer": "Orla runs", "shown": {"Orlando": []}}
    assert "submission" in str(verify(out, allow=[tasks]).mismatches[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--env", SEARCH, "--format", "musique"], "'generated' is not scored in the format 'musique'"),
        (["--env", "agentenv/WebShop-v0", "--format", "hotpotqa"], "it has no official format"),
        (["--format", "hotpotqa"], "it has no official format"),
    ],
)
def test_a_task_set_without_the_format_is_refused_before_anything_is_played(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], message: str
) -> None:
    out = tmp_path / "r.json"
    assert cli.main(["eval", "noop", *arguments, "--out", str(out)]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_another_benchmark_and_several_episodes_are_refused(tmp_path: Path) -> None:
    kwargs = {"tasks": f"hotpotqa:{written(tmp_path, 'dev.json', HOTPOT)}?split=test"}
    tasks = SearchEnv(split="test", **kwargs).task_set
    results = evaluate(Plans({}), SEARCH, env_kwargs=kwargs, episodes_per_task=2, workers=1)
    with pytest.raises(ConfigurationError, match="it has hotpotqa"):
        official_score(results, tasks, "2wiki", tmp_path / "p.json")
    with pytest.raises(ConfigurationError, match="one episode of each, not 2"):
        official_score(results, tasks, "hotpotqa", tmp_path / "p.json")
