from __future__ import annotations

import hashlib
import html
import http.client
import re
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from gymnasium.utils.env_checker import check_env

from agentenv.envs.shop_command import site_of
from agentenv.envs.webshop import WebShopEnv
from agentenv.errors import ConfigurationError
from agentenv.tasks.webshop.base import Product
from agentenv.tasks.webshop.pages import OBSERVATIONS
from agentenv.tasks.webshop.site import Site, make_server
from tests.helpers.browser import PROGRAM, Browser
from tests.helpers.replay import play_out
from tests.tasks.webshop.small_shop import EVIL, MUG, SmallShopEnv, mugs
from tests.tasks.webshop.test_pages import Visible

GOOD = ["search[blue mug]", "click[b0testaaaa]", "click[red]", "click[large]", "click[buy now]"]
TASK = "mug-train-0"


class BigShopEnv(SmallShopEnv):
    products: ClassVar[Sequence[Product]] = (MUG, EVIL, *mugs(30))


def test_the_right_purchase_is_a_success() -> None:
    env = SmallShopEnv()
    env.reset(seed=0)
    steps = play_out(env, GOOD)
    progress = [step[4]["progress"] for step in steps]
    assert progress == sorted(progress)
    _, reward, terminated, truncated, info = steps[-1]
    assert (reward, terminated, truncated, info["success"], info["progress"]) == (1.0, True, False, True, 1.0)
    assert info["stop_reason"] == "success"
    assert all(step[1] == 0.0 for step in steps[:-1])


def test_earlier_pages_and_actions_are_repeated_where_wanted() -> None:
    plain, both, one = SmallShopEnv(), SmallShopEnv(num_prev_obs=2, num_prev_actions=1), SmallShopEnv(num_prev_obs=1)
    first = plain.reset(seed=0)[0]
    assert both.reset(seed=0)[0] == one.reset(seed=0)[0] == first
    pages = [first, *(step[0] for step in play_out(plain, GOOD))]
    for number, (step, short) in enumerate(zip(play_out(both, GOOD), play_out(one, GOOD), strict=True), start=1):
        earlier = pages[max(0, number - 2) : number]
        assert step[0] == " [SEP] ".join([*earlier, GOOD[number - 1], pages[number]])
        assert short[0] == " [SEP] ".join([pages[number - 1], pages[number]])


def test_what_is_repeated_is_part_of_snapshots() -> None:
    env = SmallShopEnv(num_prev_obs=3, num_prev_actions=3)
    env.reset(seed=0)
    play_out(env, GOOD[:2])
    kept = env.snapshot()
    rest = [step[0] for step in play_out(env, GOOD[2:])]
    env.restore(kept)
    assert [step[0] for step in play_out(env, GOOD[2:])] == rest
    env.reset(seed=0)
    assert env.step("click[no]")[0].count("[SEP] click[no] [SEP] Invalid action!") == 1


def test_of_too_much_to_repeat_the_latest_is_kept() -> None:
    env = SmallShopEnv(num_prev_actions=9)
    env.reset(seed=0)
    for _ in range(3):
        observation = env.step("click[" + 120_000 * "x" + "]")[0]
    assert observation.startswith(" ... (cut)")
    assert observation.endswith("Invalid action! Valid actions: search[<keywords>]")
    assert env.observation_space.contains(observation)


@pytest.mark.parametrize("wrong", [{"num_prev_obs": -1}, {"num_prev_actions": 1.5}, {"num_prev_obs": True}])
def test_a_wrong_number_of_turns_to_repeat_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="is not a number of turns"):
        SmallShopEnv(**wrong)


def test_another_purchase_earns_its_graded_score() -> None:
    env = SmallShopEnv()
    env.reset(seed=0)
    observation, reward, terminated, _, info = play_out(env, ["search[mug]", "click[b0testaaaa]", "click[buy now]"])[-1]
    assert (reward, terminated, info["success"], info["stop_reason"]) == (pytest.approx(2 / 3), True, False, "bought")
    assert info["reward_parts"] == {"outcome": reward}
    assert f"[SEP] {reward} [SEP]" in observation
    assert info["progress"] < 1


def test_the_price_of_the_chosen_variant_counts_unless_scores_are_the_originals() -> None:
    class Dear(SmallShopEnv):
        wanted: ClassVar[dict[str, Any]] = {"price_upper": 10.0}

    for reward, expected in (("strict", 2 / 3), ("original", 1.0)):
        env = Dear(reward=reward)
        env.reset(seed=0)
        observation, *_ = play_out(env, GOOD[:-1])[-1]
        assert ("Price: $12.0" in observation) == (reward == "strict")
        assert env.step(GOOD[-1])[1] == pytest.approx(expected)


def test_an_episode_without_a_purchase_has_no_outcome() -> None:
    env = SmallShopEnv(max_turns=4)
    env.reset(seed=0)
    _, reward, terminated, truncated, info = play_out(env, GOOD)[-1]
    assert (reward, terminated, truncated, info["stop_reason"]) == (0.0, False, True, "max_turns")
    assert info["progress"] > 0.5


def test_an_invalid_action_is_told_the_valid_ones_and_changes_nothing() -> None:
    env = SmallShopEnv()
    _, before = env.reset(seed=0)
    observation, reward, *_, info = env.step("click[blue]")
    assert observation == "Invalid action! Valid actions: search[<keywords>]"
    assert (reward, info["valid_action"], info["state_hash"]) == (0.0, False, before["state_hash"])
    play_out(env, GOOD[:2])
    valid = env.step("buy it")[0].removeprefix("Invalid action! Valid actions: ").split(", ")
    assert "click[buy now]" in valid
    assert "click[red]" in valid


def test_the_valid_actions_are_those_that_the_original_lists() -> None:
    env = SmallShopEnv()
    env.reset(seed=0)
    assert env.available_actions() == {"has_search_bar": True, "clickables": ["search"]}
    play_out(env, GOOD[:1])
    assert env.available_actions() == {
        "has_search_bar": False,
        "clickables": ["back to search", "next >", "b0testaaaa"],
    }


def test_react_thinks_without_moving() -> None:
    env = SmallShopEnv(observation="react")
    _, before = env.reset(seed=0)
    observation, *_, info = env.step("think[A mug is needed. [red]]")
    assert (observation, info["valid_action"], info["state_hash"]) == ("OK.", True, before["state_hash"])
    other = SmallShopEnv()
    other.reset(seed=0)
    assert not other.step("think[x]")[4]["valid_action"]


@pytest.mark.parametrize("mode", OBSERVATIONS)
def test_gymnasiums_checker_passes_in_every_mode(mode: str) -> None:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*alternative render modes.*")  # which need a registered id
        check_env(SmallShopEnv(observation=mode))


@pytest.mark.parametrize(
    "text", ["\x00", "search[\x00\x1b]", "search[" + "🙂" * 40_000 + "]", "search[</p>]", "[" * 90_000]
)
@pytest.mark.parametrize("mode", OBSERVATIONS)
def test_any_action_is_answered(mode: str, text: str) -> None:
    env = SmallShopEnv(observation=mode)
    env.reset(seed=0)
    observation = env.step(text)[0]
    assert observation in env.observation_space
    assert "\x1b" not in observation
    assert "\x00" not in observation


def test_a_page_that_is_too_long_is_cut() -> None:
    class Long(SmallShopEnv):
        products: ClassVar[Sequence[Product]] = (replace(MUG, bullets=("日本語" * 6_000,) * 20),)

    env = Long()
    env.reset(seed=0)
    observation = play_out(env, [*GOOD[:2], "click[features]"])[-1][0]
    assert observation in env.observation_space
    assert observation.endswith("(cut)")


def test_forks_share_products_and_nothing_else() -> None:
    env = BigShopEnv()
    env.reset(seed=0)
    play_out(env, GOOD[:2])
    twin = env.fork()
    assert isinstance(twin, WebShopEnv)
    assert twin.shop is env.shop
    assert play_out(twin, ["click[blue]", "click[buy now]"])[-1][1] < 1
    assert play_out(env, GOOD[2:])[-1][1] == 1.0


@pytest.mark.parametrize(
    "argument",
    [{"reward": "strikt"}, {"observation": "txt"}, {"tasks": "nothing"}, {"reward": "original", "tagger": "x"}],
)
def test_arguments_that_cannot_be_used_are_refused(argument: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        WebShopEnv(**argument) if "tasks" in argument else SmallShopEnv(**argument)  # type: ignore[arg-type]


# -- the site -----------------------------------------------------------------------------------------------------


def sites(ids: Sequence[str] = ("ID1", "ID2", "ID3")) -> Site:
    """A site whose sessions have these ids."""
    site, pending = site_of(BigShopEnv()), list(ids)
    site.new_id = lambda: pending.pop(0)
    return site


def follow(site: Site, path: str) -> str:
    """The page at a path, redirects followed."""
    answer = site.get(path)
    return follow(site, answer.location) if answer.location else answer.body


def click(page: str, text: str) -> str:
    """The target of the link with this text."""
    links = re.findall(r'href="([^"]*)">([^<]*)</a>', page)
    return next(html.unescape(target) for target, shown in links if html.unescape(shown) == text)


SCRIPT = [("search", "blue mug"), ("click", "B0TESTAAAA"), ("click", "red"), ("click", "Features"), ("click", "< Prev")]
SCRIPT += [("click", "large"), ("click", "Buy Now")]


def env_pages(mode: str) -> tuple[list[str], float]:
    """The pages that the environment shows along the script, and its reward."""
    env = BigShopEnv(observation=mode)
    pages, reward = [env.reset(options={"task_id": TASK})[0]], 0.0
    for verb, text in SCRIPT:
        page, reward, *_ = env.step(f"{verb}[{text}]")
        pages.append(page)
    return pages, reward


def next_path(page: str, verb: str, text: str) -> str:
    """Where a browser goes from a page."""
    if verb == "click":
        return click(page, text)
    form = re.search(r'<form action="([^"]*)"', page)
    assert form is not None
    return f"{form[1]}?search_query={text.replace(' ', '+')}"


def test_the_site_shows_the_pages_of_the_environment() -> None:
    site = sites()
    pages = [follow(site, f"/start/{TASK}")]
    for step in SCRIPT:
        pages.append(follow(site, next_path(pages[-1], *step)))
    expected, reward = env_pages("html")
    assert [page.replace("ID1", TASK) for page in pages[:-1]] == expected[:-1]
    code = hashlib.sha1(b"ID1").hexdigest()[:10].upper()
    assert pages[-1].replace(f'<p class="done">{code}</p>\n', "") == expected[-1]
    assert site.sessions["ID1"].score == reward == 1.0


def test_the_first_purchase_counts() -> None:
    site = sites()
    follow(site, f"/start/{TASK}")
    first = follow(site, "/done/ID1/B0TESTAAAA/%7B%7D")
    assert follow(site, "/done/ID1/B0TESTAAAA/%7B%22color%22%3A%20%22red%22%7D") == first
    assert follow(site, "/ID1") == first
    assert site.sessions["ID1"].score == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "path",
    ["/ID9", "/start/none", "/search_results/ID9?search_query=x", "/ID1/x", "/%00", "/..//", "/search_results/ID1/x/0"],
)
def test_paths_that_are_no_pages_are_not_found(path: str) -> None:
    site = sites()
    follow(site, f"/start/{TASK}")
    assert site.get(path).status == 404


def test_sessions_are_apart_and_the_oldest_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentenv.tasks.webshop.site._KEPT_SESSIONS", 2)
    site = sites()
    for _ in range(3):
        site.get("/")
    assert list(site.sessions) == ["ID2", "ID3"]
    assert [customer.task_id for customer in site.sessions.values()] == ["mug-train-1", "mug-train-2"]


def test_the_site_escapes_and_lists() -> None:
    site = sites()
    assert "<script" not in follow(site, "/start/" + TASK)
    page = follow(site, "/search_results/ID1?search_query=%3Cscript%3Emug+buy+now%00")
    assert "<script" not in page
    assert TASK in follow(site, "/tasks")
    assert site_of(BigShopEnv()).new_id() != site_of(BigShopEnv()).new_id()


@pytest.fixture
def port() -> Iterator[int]:
    server = make_server(sites, "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield int(server.server_address[1])
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_server_forbids_scripts_and_redirects(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", f"/start/{TASK}")
    answer = connection.getresponse()
    answer.read()
    assert (answer.status, answer.getheader("Location")) == (303, "/ID1")
    policy = answer.getheader("Content-Security-Policy") or ""
    assert policy.startswith("default-src 'none'; style-src 'self'")
    assert "script" not in policy
    connection.request("POST", "/ID1")
    assert connection.getresponse().status == 501
    connection.close()


@pytest.fixture
def browser(tmp_path: Path) -> Iterator[Browser]:
    if PROGRAM is None:
        pytest.skip("chromium is not installed (Debian: apt-get install chromium)")
    opened = Browser(tmp_path)
    yield opened
    opened.close()


@pytest.mark.slow
def test_a_purchase_in_chromium_and_in_the_environment_are_the_same(port: int, browser: Browser) -> None:
    browser.go(f"http://127.0.0.1:{port}/start/{TASK}")
    pages = [browser.document()]
    for verb, text in SCRIPT:
        if verb == "search":
            browser.evaluate(f"document.getElementById('search_input').value = {text!r}")
        browser.click("Search" if verb == "search" else text)
        pages.append(browser.document())
    expected, reward = env_pages("text")
    seen = [" [SEP] ".join(Visible(page).strings) for page in pages]
    assert seen[:-1] == expected[:-1]
    assert re.sub(r"Your code: \[SEP\] [0-9A-F]{10}", "Your code:", seen[-1]) == expected[-1]
    assert f"[SEP] {reward} [SEP]" in seen[-1]


@pytest.mark.slow
def test_hostile_products_run_nothing_in_chromium(port: int, browser: Browser) -> None:
    browser.go(f"http://127.0.0.1:{port}/start/{TASK}")
    browser.evaluate("document.getElementById('search_input').value = '</p><script>document.title=1</script>mug'")
    browser.click("Search")
    assert browser.evaluate("document.title") == "WebShop"
    browser.click("Back to Search")
    browser.evaluate("document.getElementById('search_input').value = 'mug buy now'")
    browser.click("Search")
    browser.click("B0EVIL0000")
    assert browser.evaluate("document.querySelectorAll('script, img').length") == 0
    assert "<script>alert(1)</script>" in browser.evaluate("document.body.innerText")
    assert browser.evaluate("getComputedStyle(document.body).maxWidth") != "none"  # the style sheet is let through
