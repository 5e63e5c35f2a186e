"""Parsers of configuration: every usual spelling reads the same, and no text whatever crashes them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentenv.errors import NotInStateError
from agentenv.tasks.terminal.families._settings import assignments, directives, indented, ini_entries, ini_sections

PARSERS: tuple[Callable[[str], object], ...] = (assignments, directives, indented, ini_entries, ini_sections)


@pytest.mark.parametrize("parse", PARSERS, ids=lambda parse: parse.__name__)
@given(text=st.one_of(st.text(), st.text(alphabet="[]=:#;'\"\\ \n\tab1-")))
def test_any_text_parses_or_is_refused(parse: Callable[[str], object], text: str) -> None:
    with contextlib.suppress(NotInStateError):
        parse(text)


@pytest.mark.parametrize("text", ["[a]\nx = 1\n", "[a]\nx=1", "; note\n[ a ]\n  x : '1'\n\n", '[a]\nx = "1"\n'])
def test_ini_spellings_of_one_setting(text: str) -> None:
    assert ini_sections(text) == {"a": {"x": "1"}}


def test_ini_key_given_twice_is_refused() -> None:
    with pytest.raises(NotInStateError, match="twice"):
        ini_sections("[a]\nx = 1\nx = 2\n")


def test_unit_takes_no_colon_and_keeps_quotes() -> None:
    assert ini_entries("[Unit]\nDescription='a'\n", unit=True) == [("Unit", "Description", "'a'")]
    with pytest.raises(NotInStateError):
        ini_entries("[Service]\nRestart: always\n", unit=True)


@pytest.mark.parametrize("text", ["K=two words", "two words", "K='open", "a-b=1"])
def test_what_a_shell_would_not_assign_is_refused(text: str) -> None:
    with pytest.raises(NotInStateError):
        assignments(text)


@pytest.mark.parametrize("text", ["a:\n  x: 7\n", "---\na:\n    x:   7   # why\n", "a: # top\n  x: 7"])
def test_yaml_spellings_of_one_setting(text: str) -> None:
    assert indented(text) == {"a": {"x": "7"}}


@pytest.mark.parametrize("text", ["a:\n  x: 1\n  x: 2\n", "a: 1\n", "a:\n  x: 1\n   y: 2\n", "a:\n\tx: 1\n", "- a\n"])
def test_what_is_no_two_level_mapping_is_refused(text: str) -> None:
    with pytest.raises(NotInStateError):
        indented(text)


def test_quoted_number_differs_from_a_number() -> None:
    assert indented("a:\n  x: '7'\n") != indented("a:\n  x: 7\n")
