"""Two rewards for a purchase, `original` and `strict`, and their terms as checks. Invariant: both rules are pure.

`score` and `checks_for` choose a rule by its name; docs/webshop-reward.md sets the two side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentenv.errors import ConfigurationError, did_you_mean
from agentenv.progress import Check
from agentenv.tasks.webshop.base import Goal, Product, Purchase
from agentenv.tasks.webshop.reward.checks import Rule, ShopView, checks_of
from agentenv.tasks.webshop.reward.original import original
from agentenv.tasks.webshop.reward.score import NO_LIMIT, Score, Terms, price_of
from agentenv.tasks.webshop.reward.strict import strict
from agentenv.tasks.webshop.reward.tagger import TAGGERS, SpacyTagger, Tagger, WordTagger, load_tagger

__all__ = [
    "NO_LIMIT",
    "RULES",
    "TAGGERS",
    "Score",
    "ShopView",
    "SpacyTagger",
    "Tagger",
    "Terms",
    "WordTagger",
    "checks_for",
    "load_tagger",
    "original",
    "price_of",
    "score",
    "strict",
]

RULES = ("strict", "original")
"""The names of the rules; the first is the default."""


def score(rule: str, goal: Goal, target: Product, purchase: Purchase, tagger: Tagger | None = None) -> Score:
    """The score of a purchase under the rule of that name.

    Args:
        rule: One of `RULES`.
        goal: What was wanted.
        target: The product that the goal was made from.
        purchase: What was bought.
        tagger: For "original": finds the nouns of titles; None takes spaCy where it is installed.

    Raises:
        ConfigurationError: On an unknown rule.

    >>> mug = Product("B1", "Red Mug", "", (), "garden", "", "mugs", (), (9.5,), 9.5, {"color": ("red", "blue")})
    >>> goal = Goal("g", "B1", "A red mug.", (), {"color": "red"}, 20.0)
    >>> score("strict", goal, mug, Purchase(mug, {"color": "red"}, 9.5)).total
    1.0
    >>> score("strict", goal, mug, Purchase(mug, {"color": "blue"}, 9.5)).terms.counts["options_met"]
    0
    """
    return _rule(rule, goal, target, tagger)(purchase)


def checks_for(goal: Goal, product: Product, rule: str = RULES[0], tagger: Tagger | None = None) -> Sequence[Check]:
    """The parts of a goal's score as checks that read a `ShopView`; names do not depend on what is wanted.

    Args:
        goal: What is wanted.
        product: The product that the goal was made from.
        rule: One of `RULES`.
        tagger: As for `score`.

    Raises:
        ConfigurationError: On an unknown rule.
    """
    price_counts = rule == "original" or goal.price_upper < NO_LIMIT
    return checks_of(goal, _rule(rule, goal, product, tagger), price_counts=price_counts)


def _rule(name: str, goal: Goal, target: Product, tagger: Tagger | None) -> Rule:
    if name == "strict":
        return lambda purchase: strict(goal, target, purchase)
    if name == "original":
        nouns = tagger or load_tagger()
        return lambda purchase: original(goal, target, purchase, nouns)
    raise ConfigurationError(f"reward {name!r} is not one of {', '.join(RULES)}.{did_you_mean(name, RULES)}")
