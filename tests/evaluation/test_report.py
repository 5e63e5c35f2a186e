from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from agentenv.errors import ConfigurationError, ResultsFileError, TrajectoryFormatError
from agentenv.evaluation.results import write_results
from agentenv.trajectory import Trajectory, Turn, write_trajectories
from tests.evaluation.making import make_results

pytest.importorskip("jinja2", reason="the report needs the extra `report`")
pytest.importorskip("matplotlib", reason="the report needs the extra `report`")

from agentenv.evaluation.charts import curve_chart
from agentenv.evaluation.episodes import shown_episodes
from agentenv.evaluation.gather import gather
from agentenv.evaluation.report import write_report

HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(2)>\x1b[31m\u2028&amp;'\""


class Page(HTMLParser):
    """What a browser would see: elements with their attributes, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.in_script = True
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self.in_script = self.in_script and tag != "script"

    def handle_data(self, data: str) -> None:
        if self.in_script:
            self.scripts[-1] += data


def make_trajectory(task: str, success: bool, text: str = "ls") -> Trajectory:
    turns = [
        Turn("do it", text, progress=0.5, checks={text: 0.5}, reward=0.5, reward_parts={"outcome": 0.0, text: 0.5}),
        Turn(text, "submit", progress=1.0 if success else 0.5, checks={text: 1.0}, reward_parts={"outcome": 1.0}),
    ]
    return Trajectory(
        task,
        turns=turns,
        success=success,
        stop_reason="submitted",
        final_observation=text,
        start_checks={text: 0.0},
        meta={"advantages": [0.25, -0.5]},
    )


@pytest.fixture
def run(tmp_path: Path) -> Path:
    root = tmp_path / "main"
    for arm in ("outcome", "procredit"):
        (root / arm).mkdir(parents=True)
        rows = [{"update": n, "charts/success_rate": n / 20, "losses/kl_ref": n * 0.01} for n in range(20)]
        (root / arm / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        episodes = [make_trajectory("won", True), make_trajectory("lost", False)]
        write_trajectories(root / arm / "trajectories-9.jsonl", episodes)
    for name, wins in (("warm-start", 5), ("outcome", 10), ("procredit", 25)):
        results = make_results([n < wins for n in range(40)], policy=name)
        write_results(root / "eval" / f"{name}-test.json", results)
    return root


def render(run: Path, tmp_path: Path, **options: Any) -> tuple[str, Page]:
    text = write_report(run, tmp_path / "report.html", **options).read_text(encoding="utf-8")
    return text, Page(text)


def data_of(page: Page) -> Any:
    return json.loads(page.scripts[0])


def test_the_page_tells_success_with_intervals_and_paired_gains(run: Path, tmp_path: Path) -> None:
    text, page = render(run, tmp_path)
    assert re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", text)).count("62.5% [") == 1
    gains = [re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", row)) for row in re.findall(r"<tr>.*?</tr>", text, re.DOTALL)]
    assert any("procredit over warm-start +50.0" in row and "above zero" in row for row in gains)
    assert any("procredit over outcome +37.5" in row for row in gains)
    assert sum(tag == "svg" for tag, _ in page.elements) == 2


def test_the_page_loads_nothing_and_runs_only_its_own_script(run: Path, tmp_path: Path) -> None:
    text, page = render(run, tmp_path)
    for tag, attributes in page.elements:
        for name in ("src", "href", "xlink:href", "action", "data"):
            assert not (attributes.get(name) or "#").startswith(("http", "//", "data", "file")), (tag, attributes)
        assert not any(name.startswith("on") for name in attributes)
    policy = next(a["content"] for tag, a in page.elements if tag == "meta" and a.get("http-equiv")) or ""
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "@import" not in text
    assert "url(http" not in text


def test_hostile_text_stays_text_everywhere(tmp_path: Path) -> None:
    root = tmp_path / "run"
    arm = root / "<b>arm&"
    arm.mkdir(parents=True)
    write_trajectories(arm / "trajectories.jsonl", [make_trajectory(HOSTILE, True, HOSTILE)])
    (arm / "metrics.jsonl").write_text('{"update": 0, "charts/progress": 0.1}\n{"update": 1, "charts/progress": 0.2}\n')
    results = make_results([True, False], policy=HOSTILE)
    records = [replace(record, family=HOSTILE, stop_reason=HOSTILE) for record in results.records]
    write_results(arm / "x-test.json", replace(results, records=tuple(records)))
    _, page = render(root, tmp_path, title=HOSTILE)
    assert len(page.scripts) == 2
    assert not any(tag in ("img", "b") and attributes.get("src") for tag, attributes in page.elements)
    assert not any("onerror" in attributes for _, attributes in page.elements)
    shown = data_of(page)[0]
    assert (shown["task"], shown["turns"][0]["action"], shown["arm"]) == (HOSTILE, HOSTILE, "<b>arm&")


def test_lone_surrogates_do_not_break_the_page(tmp_path: Path) -> None:
    write_results(tmp_path / "r-test.json", make_results([True], policy="p"))
    write_report(tmp_path / "r-test.json", tmp_path / "o.html", title="a\ud800b")
    assert "a?b" in (tmp_path / "o.html").read_text(encoding="utf-8")


def test_the_same_material_gives_the_same_page(run: Path, tmp_path: Path) -> None:
    assert render(run, tmp_path)[0] == render(run, tmp_path)[0]


def test_episodes_carry_what_each_turn_earned(run: Path, tmp_path: Path) -> None:
    episodes = data_of(render(run, tmp_path)[1])
    assert [(episode["arm"], episode["task"]) for episode in episodes] == [
        ("outcome", "won"),
        ("outcome", "lost"),
        ("procredit", "won"),
        ("procredit", "lost"),
    ]
    first = episodes[0]["turns"][0]
    assert (first["reward"], first["advantage"], first["parts"]) == (0.5, 0.25, {"outcome": 0.0, "ls": 0.5})
    assert (episodes[0]["instruction"], first["reply"]) == ("do it", "ls")


def test_long_observations_are_cut_and_odd_meta_is_no_advantage(tmp_path: Path) -> None:
    path = tmp_path / "trajectories.jsonl"
    long, odd = make_trajectory("long", False, "x" * 100_000), make_trajectory("odd", False)
    odd.meta = {"advantages": "many"}
    write_trajectories(path, [long, odd])
    shown = {episode["task"]: episode for episode in shown_episodes([("arm", path)], 9)}
    assert len(shown["long"]["turns"][0]["action"]) < 5000
    assert "96000 characters left out" in shown["long"]["turns"][0]["action"]
    assert shown["odd"]["turns"][0]["advantage"] is None


def test_only_the_latest_trajectories_of_an_arm_are_shown(tmp_path: Path) -> None:
    for number in (9, 10):
        write_trajectories(tmp_path / f"trajectories-{number}.jsonl", [make_trajectory(f"at {number}", True)])
    shown = shown_episodes(gather([tmp_path]).trajectories, 9)
    assert [episode["task"] for episode in shown] == ["at 10"]


def test_arms_are_named_by_where_they_stand_and_none_hides_another(tmp_path: Path) -> None:
    root = tmp_path / "all"
    for seed in ("seed-1", "seed-2"):
        (root / seed / "procredit").mkdir(parents=True)
        (root / seed / "procredit" / "metrics.jsonl").write_text('{"update": 0, "a": 1}\n')
        write_results(root / seed / "eval" / "procredit-test.json", make_results([True]))
    write_results(root / "procredit" / "test.json", make_results([True]))
    write_results(root / "results" / "tiny-test.json", make_results([True]))
    write_results(root / "tiny-test.json", make_results([True]))
    material = gather([root])
    assert [arm.name for arm in material.arms] == ["seed-1/procredit", "seed-2/procredit"]
    names = [evaluation.name for evaluation in material.evaluations]
    assert len(set(names)) == len(names) == 5
    assert "procredit" in names


def test_metrics_of_a_running_or_diverged_run_are_read(tmp_path: Path) -> None:
    lines = ['{"update": 0, "a": 1.0, "b": NaN}', '{"update": 1, "a": 2.0, "b": 1.0}', '{"update": 2, "a"']
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines))
    arm = gather([tmp_path]).arms[0]
    assert (arm.axis, arm.metrics) == ("update", {"a": [(0.0, 1.0), (1.0, 2.0)], "b": [(1.0, 1.0)]})


def test_damaged_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('rubbish\n{"update": 1}\n')
    with pytest.raises(ResultsFileError, match=r"metrics\.jsonl:1"):
        gather([tmp_path])
    (tmp_path / "metrics.jsonl").unlink()
    (tmp_path / "trajectories.jsonl").write_text("rubbish\n")
    with pytest.raises(TrajectoryFormatError, match=r"trajectories\.jsonl:1"):
        write_report(tmp_path, tmp_path / "o.html")
    write_results(tmp_path / "r.json", make_results([True]))
    (tmp_path / "r.json").write_text((tmp_path / "r.json").read_text()[:-100])
    with pytest.raises(ResultsFileError, match=r"r\.json"):
        gather([tmp_path])


def test_nothing_to_report_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ConfigurationError, match="nothing to report"):
        write_report(tmp_path, tmp_path / "o.html")
    with pytest.raises(ConfigurationError, match="no such"):
        write_report(tmp_path / "absent", tmp_path / "o.html")


def test_results_on_other_tasks_are_not_compared(tmp_path: Path) -> None:
    write_results(tmp_path / "a-test.json", make_results([True], fingerprint="1" * 9))
    write_results(tmp_path / "b-test.json", make_results([False], fingerprint="2" * 9))
    text, _ = render(tmp_path, tmp_path)
    assert "Paired gain" not in text
    assert "tasks 11111111" in text


def test_a_chart_repeats_and_follows_the_pages_colours() -> None:
    curves = [(0, list(range(30)), [0.1 * n for n in range(30)]), (3, [0, 1], [0.5, 0.2])]
    svg = curve_chart(curves, salt="a", axis="update")
    assert svg == curve_chart(curves, salt="a", axis="update")
    assert "var(--c0)" in svg
    assert "var(--c3)" in svg
    assert "#0a0b" not in svg
    assert "http://www.w3.org/1999/xlink" in svg or "<use" not in svg
