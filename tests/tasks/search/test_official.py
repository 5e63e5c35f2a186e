"""Official metrics on examples worked by hand, and prediction files. All data here is invented."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.errors import ConfigurationError, ResultsFileError
from agentenv.tasks.search.official import (
    FORMATS,
    Gold,
    Prediction,
    as_printed,
    evaluate,
    gold_from_row,
    read_aliases,
    read_golds,
    read_predictions,
    write_predictions,
)

HOTPOT = [
    {"_id": "a", "question": "?", "answer": "The Red Mill", "supporting_facts": [["Mill", 0], ["Vale", 2]]},
    {"_id": "b", "question": "?", "answer": "yes", "supporting_facts": [["Ferry", 1]]},
    {"_id": "c", "question": "?", "answer": "1.5", "supporting_facts": []},
]
WIKI = [
    {
        "_id": "w",
        "answer": "Northland",
        "answer_id": "Q1",
        "supporting_facts": [["Ann Ax", 0], ["Bo Bee", 1]],
        "evidences": [["Ann Ax", "spouse", "Bo Bee"], ["Bo Bee", "country", "Northland"]],
        "evidences_id": [["Q7", "spouse", "Q8"], ["Q8", "country", "Q1"]],
    }
]
ALIASES = [
    {"Q_id": "Q1", "aliases": ["Kingdom of Northland"], "demonyms": ["Northlander"]},
    {"Q_id": "Q8", "aliases": ["B. Bee"], "demonyms": []},
]


def paragraphs(*supporting: int) -> list[dict[str, Any]]:
    return [{"idx": n, "title": "t", "paragraph_text": "p", "is_supporting": n in supporting} for n in range(4)]


def musique_row(id: str, answerable: bool = True, **more: Any) -> dict[str, Any]:
    row = {"id": id, "answer": "Lake Blue", "answer_aliases": ["Blue Lake Reserve"], "paragraphs": paragraphs(0, 2)}
    return {**row, "answerable": answerable, **more}


def golds(format: str, rows: list[dict[str, Any]], aliases: dict[str, frozenset[str]] | None = None) -> list[Gold]:
    return [gold_from_row(format, row, aliases) for row in rows]


def test_hotpot_metrics_worked_by_hand() -> None:
    """Question a: tokens red mill house / red mill, facts one of two right and one wrong; b: wrong; c: missing.

    a: precision 2/3, recall 1, F1 4/5; facts 1/2 each; joint precision 1/3, recall 1/2, F1 2/5. b: answer 0 by the
    yes/no rule though "yes" is shared, facts 1.
    """
    predictions = [
        Prediction("b", "yes indeed", (("Ferry", 1),)),
        Prediction("a", "Red Mill house", (("Mill", 0), ("Vale", 1))),
    ]
    found = evaluate("hotpotqa", predictions, golds("hotpotqa", HOTPOT))
    expected = {
        "em": 0, "f1": 4 / 5 / 3, "prec": 2 / 3 / 3, "recall": 1 / 3,
        "sp_em": 1 / 3, "sp_f1": 1.5 / 3, "sp_prec": 1.5 / 3, "sp_recall": 1.5 / 3,
        "joint_em": 0, "joint_f1": 2 / 5 / 3, "joint_prec": 1 / 3 / 3, "joint_recall": 1 / 2 / 3,
    }  # fmt: skip
    assert found == pytest.approx(expected, abs=1e-12)


def test_the_official_rule_is_lossy_and_an_empty_set_of_facts_has_em_but_no_f1() -> None:
    found = evaluate("hotpotqa", [Prediction("c", "15", ())], golds("hotpotqa", HOTPOT[2:]))
    assert (found["em"], found["f1"]) == (1.0, 1.0)
    assert (found["sp_em"], found["sp_f1"], found["joint_em"], found["joint_f1"]) == (1.0, 0.0, 1.0, 0.0)


def test_an_answer_without_facts_counts_but_not_jointly() -> None:
    gold = golds("hotpotqa", HOTPOT[1:2])
    alone = evaluate("hotpotqa", [Prediction("b", "Yes")], gold)
    assert (alone["em"], alone["sp_em"], alone["joint_em"]) == (1.0, 0.0, 0.0)
    whole = evaluate("hotpotqa", [Prediction("b", "Yes", (("Ferry", 1), ("Ferry", 1)))], gold)
    assert (whole["sp_em"], whole["joint_em"], whole["joint_f1"]) == (1.0, 1.0, 1.0)


@pytest.mark.parametrize("format", FORMATS)
def test_missing_predictions_count_zero_and_unknown_ones_nothing(format: str, caplog: pytest.LogCaptureFixture) -> None:
    gold = [Gold("a", ("x",), (("T", 0),), paragraphs=(1,)), Gold("b", ("y",), (("T", 0),), paragraphs=(1,))]
    predictions = [Prediction("a", "x", (("T", 0),), (), (1,), True), Prediction("z", "y")]
    with caplog.at_level(logging.WARNING):
        found = evaluate(format, predictions, gold)
    assert found["answer_em" if format == "musique" else "em"] == 0.5
    assert "1 of 2 gold questions have no prediction" in caplog.text
    assert "'z'" in caplog.text


def test_wiki_metrics_worked_by_hand(tmp_path: Path) -> None:
    """Answer by an alias; titles in any case; of three triples two right, one by an alias of its object.

    Evidence precision 2/3, recall 1, F1 4/5, EM 0. Joint precision 2/3, recall 1, F1 4/5.
    """
    file = tmp_path / "id_aliases.json"
    file.write_text("\n".join(map(json.dumps, ALIASES)))
    gold = golds("2wikimultihopqa", WIKI, read_aliases(file))
    triples = (("ann ax", "spouse", "B Bee"), ("Bo Bee", "country", "northlander"), ("Bo Bee", "country", "Southland"))
    prediction = Prediction("w", "the kingdom of Northland", (("ann ax", 0), ("BO BEE", 1)), triples)
    found = evaluate("2wikimultihopqa", [prediction], gold)
    assert [found[name] for name in ("em", "f1", "sp_em", "sp_f1", "evi_em", "joint_em")] == [1, 1, 1, 1, 0, 0]
    assert found["evi_prec"] == found["joint_prec"] == pytest.approx(2 / 3)
    assert found["evi_recall"] == found["joint_recall"] == 1.0
    assert found["evi_f1"] == found["joint_f1"] == pytest.approx(4 / 5)
    assert as_printed("2wikimultihopqa", found)["evi_prec"] == 66.67


def test_wiki_evidence_keeps_articles_and_wants_every_triple() -> None:
    gold = golds("2wikimultihopqa", WIKI)
    right = (("Ann Ax!", "Spouse", "Bo  Bee"), ("bo bee", "country", "northland"))
    whole = evaluate("2wikimultihopqa", [Prediction("w", "Northland", WIKI_FACTS, right)], gold)
    assert whole["evi_em"] == whole["joint_em"] == 1.0
    half = evaluate("2wikimultihopqa", [Prediction("w", "Northland", WIKI_FACTS, right[:1])], gold)
    assert (half["evi_em"], half["evi_prec"], half["evi_recall"]) == (0.0, 1.0, 0.5)
    article = (("the Ann Ax", "spouse", "Bo Bee"),)
    assert evaluate("2wikimultihopqa", [Prediction("w", "Northland", WIKI_FACTS, article)], gold)["evi_prec"] == 0.0
    without = evaluate("2wikimultihopqa", [Prediction("w", "Northland", WIKI_FACTS)], gold)
    assert (without["em"], without["evi_em"], without["joint_em"]) == (1.0, 0.0, 0.0)


WIKI_FACTS = (("Ann Ax", 0), ("Bo Bee", 1))


def test_wiki_names_one_triple_twice_as_the_official_script_counts_it() -> None:
    gold = golds("2wikimultihopqa", WIKI, {"Q8": frozenset({"B. Bee"})})
    twice = (("Ann Ax", "spouse", "Bo Bee"), ("Ann Ax", "spouse", "b bee"), ("Bo Bee", "country", "Northland"))
    found = evaluate("2wikimultihopqa", [Prediction("w", "Northland", WIKI_FACTS, twice)], gold)
    assert (found["evi_prec"], found["evi_recall"], found["evi_em"]) == (1.0, 1.5, 0.0)


def test_musique_metrics_worked_by_hand() -> None:
    """Row 1: blueish lake blue / lake blue has F1 4/5, the alias blue lake reserve 2/3. Support {0, 1} of {0, 2}: 1/2.

    Row 2: right but for the article, support exact. Row 3: missing.
    """
    rows = [musique_row("2hop__1"), musique_row("2hop__2"), musique_row("2hop__3")]
    predictions = [
        Prediction("2hop__2", "the lake blue", paragraphs=(2, 0), answerable=True),
        Prediction("2hop__1", "blue-ish Lake: Blue", paragraphs=(0, 1), answerable=True),
    ]
    found = evaluate("musique", predictions, golds("musique", rows))
    assert found == pytest.approx({"answer_f1": 1.8 / 3, "answer_em": 1 / 3, "support_f1": 1.5 / 3}, abs=1e-12)
    assert as_printed("musique", found)["answer_em"] == 0.333


def test_musique_support_of_nothing_is_right_where_nothing_is_gold() -> None:
    gold = golds("musique", [musique_row("q", paragraphs=paragraphs())])
    assert evaluate("musique", [Prediction("q", "", paragraphs=())], gold)["support_f1"] == 1.0
    assert evaluate("musique", [Prediction("q", "", paragraphs=(1,))], gold)["support_f1"] == 0.0
    assert evaluate("musique", [Prediction("q", "")], gold)["support_f1"] == 0.0


def test_musique_pairs_score_only_where_both_are_told_apart() -> None:
    rows = [musique_row("q"), musique_row("q", False), musique_row("r", False), musique_row("r")]
    right = [
        Prediction("q", "Lake Blue", paragraphs=(0, 2), answerable=True),
        Prediction("q", "", paragraphs=(), answerable=False),
    ]
    swapped = [
        Prediction("r", "Lake Blue", paragraphs=(0, 2), answerable=True),
        Prediction("r", "Lake Blue", paragraphs=(0, 2), answerable=True),
    ]
    found = evaluate("musique", [*right, *swapped], golds("musique", rows))
    assert found == {
        "answer_f1": 1.0,
        "answer_em": 1.0,
        "support_f1": 1.0,
        "group_answer_sufficiency_f1": 0.5,
        "group_support_sufficiency_f1": 0.5,
    }


def test_ids_that_do_not_pair_are_refused() -> None:
    with pytest.raises(ResultsFileError, match="'q' is predicted 1 times, the gold data asks it 2"):
        evaluate("musique", [Prediction("q")], golds("musique", [musique_row("q"), musique_row("q", False)]))
    with pytest.raises(ResultsFileError, match=r"'q': .* asked 1 times"):
        evaluate("musique", [], golds("musique", [musique_row("q", False)]))
    with pytest.raises(ResultsFileError, match="'a' is predicted 2 times"):
        evaluate("hotpotqa", [Prediction("a"), Prediction("a")], golds("hotpotqa", HOTPOT))
    with pytest.raises(ConfigurationError, match="golds is empty"):
        evaluate("hotpotqa", [], [])
    with pytest.raises(ConfigurationError, match="Did you mean 'hotpotqa'"):
        evaluate("hotpot", [], golds("hotpotqa", HOTPOT))


texts = st.text(st.characters(exclude_categories=()), max_size=8)
facts = st.lists(st.tuples(texts, st.integers(0, 9)), max_size=3).map(tuple)
predictions_of = {
    "hotpotqa": st.builds(Prediction, texts, answer=texts, facts=st.none() | facts),
    "2wikimultihopqa": st.builds(
        Prediction, texts, texts, facts, st.lists(st.tuples(texts, texts, texts), max_size=2).map(tuple)
    ),
    "musique": st.builds(
        Prediction, texts, texts, paragraphs=st.lists(st.integers(0, 19)).map(tuple), answerable=st.booleans()
    ),
}


@pytest.mark.parametrize("format", FORMATS)
def test_prediction_files_read_back_equal(format: str, tmp_path: Path) -> None:
    @given(st.lists(predictions_of[format], max_size=4, unique_by=lambda prediction: prediction.id))
    def holds(predictions: list[Prediction]) -> None:
        assert write_predictions(format, tmp_path / "p.json", predictions) == len(predictions)
        assert read_predictions(format, tmp_path / "p.json") == predictions

    holds()


def test_files_are_in_the_benchmarks_own_form(tmp_path: Path) -> None:
    prediction = Prediction("a", "x", (("T", 0),), (("s", "r", "o"),), (3,), True)
    written = {}
    for format in FORMATS:
        write_predictions(format, tmp_path / format, [prediction])
        written[format] = json.loads((tmp_path / format).read_text())
    assert written["hotpotqa"] == {"answer": {"a": "x"}, "sp": {"a": [["T", 0]]}}
    assert written["2wikimultihopqa"] == {**written["hotpotqa"], "evidence": {"a": [["s", "r", "o"]]}}
    assert written["musique"] == {
        "id": "a", "predicted_answer": "x", "predicted_support_idxs": [3], "predicted_answerable": True
    }  # fmt: skip
    assert read_predictions("hotpotqa", tmp_path / "2wikimultihopqa") == [Prediction("a", "x", (("T", 0),))]
    with pytest.raises(ConfigurationError, match="'a' is predicted twice"):
        write_predictions("hotpotqa", tmp_path / "p", [prediction, prediction])


def test_gold_files_of_every_form_read_the_same(tmp_path: Path) -> None:
    array, lines, hub = tmp_path / "dev.json", tmp_path / "dev.jsonl", tmp_path / "hub.jsonl"
    array.write_text(json.dumps(HOTPOT, indent=1))
    lines.write_text("".join(json.dumps(row) + "\n\n" for row in HOTPOT))
    columns = [
        {
            "id": row["_id"],
            "answer": row["answer"],
            "supporting_facts": {"title": [t for t, _ in row["supporting_facts"]],
                                 "sent_id": [n for _, n in row["supporting_facts"]]},
        }
        for row in HOTPOT
    ]  # fmt: skip
    hub.write_text("\n".join(map(json.dumps, columns)))
    expected = golds("hotpotqa", HOTPOT)
    assert [read_golds("hotpotqa", path) for path in (array, lines, hub)] == [expected] * 3
    wiki, names = tmp_path / "wiki.json", tmp_path / "id_aliases.json"
    wiki.write_text(json.dumps(WIKI))
    names.write_text("\n".join(map(json.dumps, ALIASES)))
    assert set(read_golds("2wikimultihopqa", wiki, names)[0].answers) == {
        "Northland", "Kingdom of Northland", "Northlander"
    }  # fmt: skip
    musique = tmp_path / "musique.json"
    musique.write_text(json.dumps(musique_row("q", False)))
    assert read_golds("musique", musique) == [
        Gold("q", ("Lake Blue", "Blue Lake Reserve"), paragraphs=(0, 2), answerable=False)
    ]
    with pytest.raises(ConfigurationError, match="aliases are for '2wikimultihopqa' only"):
        read_golds("hotpotqa", array, names)


MUSIQUE_LINE = '{"id": "q", "predicted_answer": "x", "predicted_support_idxs": [1], "predicted_answerable": true}\n'


@pytest.mark.parametrize(
    ("format", "content", "message"),
    [
        ("hotpotqa", '{"answer": {},\n "sp": {}', "line 2: not JSON"),
        ("hotpotqa", "", "line 1: not JSON"),
        ("hotpotqa", "[]", "line 1: the file must hold a JSON object, got list"),
        ("hotpotqa", '{"answer": {}, "sp": {}}\n\nx', "line 3: something follows"),
        ("hotpotqa", '{"answers": {}, "sp": {}}', "key 'answer' is missing. Did you mean 'answers'"),
        ("hotpotqa", '{"answer": {},\n"sp": []}', "line 2: key 'sp' must hold a JSON object"),
        ("hotpotqa", '{"answer": {"a": "x",\n "b": 3}, "sp": {}}', "line 2: key 'answer', question 'b': .* got 3"),
        ("hotpotqa", '{"answer": {"a": "x",\n\n "a": "y"}, "sp": {}}', "line 3: key 'a' is there twice"),
        ("hotpotqa", '{"answer": {},\n"answer": {}, "sp": {}}', "line 2: key 'answer' is there twice"),
        ("hotpotqa", '{"answer": {}, "sp": {\n"a": [["T", 0], ["T"]]}}', "line 2: key 'sp', question 'a', item 1"),
        ("hotpotqa", '{"answer": {}, "sp": {"a": [["T", true]]}}', "item 0: must be .title, sentence number."),
        ("hotpotqa", '{"answer": {}, "sp": {"a": NaN}}', "NaN is not a JSON number"),
        ("hotpotqa", '{"answer": {}, "sp": {"a": ' + "9" * 5000 + "}}", "not JSON that can be read"),
        ("hotpotqa", '{"answer": ' + "[" * 100_000, "nested too deep"),
        ("2wikimultihopqa", '{"answer": {}, "sp": {}}', "key 'evidence' is missing"),
        ("2wikimultihopqa", '{"answer": {}, "sp": {},\n"evidence": {"a": [["s", "r"]]}}', "line 2: .* item 0"),
        ("musique", MUSIQUE_LINE + "\n{", "line 3: not JSON"),
        ("musique", MUSIQUE_LINE * 2 + "[]", "line 3: must be a JSON object"),
        ("musique", MUSIQUE_LINE + MUSIQUE_LINE.strip() * 2, "line 2: something follows"),
        ("musique", '{"id":\n"q"}', "line 1: a line of a JSONL file must hold one whole JSON value"),
        ("musique", '{"id": "q", "id": "r"}', "line 1: .* key 'id' is there twice"),
        ("musique", MUSIQUE_LINE.replace("predicted_answer\"", 'answer"'), "'q': key 'predicted_answer' is missing"),
        ("musique", MUSIQUE_LINE.replace("[1]", '["1"]'), "key 'predicted_support_idxs' must hold integers, got '1'"),
        ("musique", MUSIQUE_LINE.replace("true", "1"), "key 'predicted_answerable' must be bool, got int 1"),
    ],
)  # fmt: skip
def test_a_broken_prediction_file_is_refused_with_file_line_and_key(
    format: str, content: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "broken.json"
    path.write_text(content)
    with pytest.raises(ResultsFileError, match=message) as caught:
        read_predictions(format, path)
    assert str(path) in str(caught.value)


def test_an_unreadable_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ResultsFileError, match=r"none\.json: cannot be read: No such file"):
        read_predictions("hotpotqa", tmp_path / "none.json")
    (tmp_path / "latin").write_bytes(b'{"answer": "\xe9"}')
    with pytest.raises(ResultsFileError, match="byte 12 is not UTF-8"):
        read_predictions("hotpotqa", tmp_path / "latin")


@pytest.mark.parametrize(
    ("format", "row", "message"),
    [
        ("hotpotqa", {"_id": "a", "supporting_facts": []}, "line 2: question 'a': key 'answer' is missing"),
        ("hotpotqa", 3, "line 2: a question must be a JSON object, got 3"),
        ("2wikimultihopqa", {**WIKI[0], "evidences_id": [["Q7", "spouse", "Q8"]]}, "1 'evidences_id' for 2"),
        ("musique", musique_row("q", paragraphs=[{"idx": 0}]), "key 'paragraphs', item 0: key 'is_supporting'"),
        ("musique", musique_row("q", answer_aliases=[1]), "key 'answer_aliases' must hold strings"),
    ],
)  # fmt: skip
def test_a_broken_gold_row_is_refused_with_its_line(format: str, row: object, message: str, tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text("\n" + json.dumps(row))
    with pytest.raises(ResultsFileError, match=message):
        read_golds(format, path)
