"""Thirty purchases, scored by hand under both rules. docs/webshop-reward.md shows `table()`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from agentenv.tasks.webshop.base import Goal, Product, Purchase
from agentenv.tasks.webshop.reward import NO_LIMIT, price_of

MUG = Product(
    asin="B0MUG",
    title="Harbor Ceramic Coffee Mug",
    description="A sturdy mug for the office.",
    bullets=("Dishwasher safe.", "Holds 12 ounces."),
    category="garden",
    product_category="Home › Dining › Mugs",
    query="coffee mugs",
    attributes=("dishwasher safe", "non slip"),
    prices=(9.5, 21.0),
    price=9.5,
    options={"color": ("red", "infrared", "blue"), "size": ("small", "large", "x-large"), "trim": ("red", "blue")},
    option_prices={("size", "x-large"): 21.0},
)
GOAL = Goal(
    id="g",
    asin="B0MUG",
    instruction="I want a red, large, non slip, dishwasher safe coffee mug, and price lower than 20.00 dollars",
    attributes=("dishwasher safe", "non slip"),
    options={"color": "red", "size": "large"},
    price_upper=20.0,
)
RIGHT = {"color": "red", "size": "large"}
# Another seller's mug: the same kind, and nothing else in common with the first.
OTHER = replace(MUG, asin="B0CUP", title="Stoneware Mug", description="", bullets=(), attributes=())
LONG = replace(MUG, title="Harbor Ceramic Coffee Mug Gift Box Lid Spoon Saucer Handle Rim Glaze")
SIX = replace(MUG, title="Harbor Ceramic Coffee Mug Gift Box")
RACK = replace(OTHER, title="Coffee Mug Rack", query="mug racks", product_category="Home › Storage › Racks")


@dataclass(frozen=True)
class Case:
    """One purchase; `original` and `strict` are the totals worked by hand."""

    wanted: str
    bought: str
    goal: Goal
    target: Product
    purchase: Purchase
    original: Fraction
    strict: Fraction
    why: str


def _case(
    wanted: str,
    bought: str,
    original: str,
    strict: str,
    why: str,
    *,
    product: Product = MUG,
    options: dict[str, str] = RIGHT,
    goal: Goal = GOAL,
    target: Product = MUG,
) -> Case:
    purchase = Purchase(product, options, price_of(product, options))
    return Case(wanted, bought, goal, target, purchase, Fraction(original), Fraction(strict), why)


def _wants(**options: str) -> Goal:
    return replace(GOAL, options=options)


def _knows(*attributes: str) -> Product:
    return replace(OTHER, attributes=attributes)


def _cases() -> Iterator[Case]:
    base = "red, large, two attributes, at most $20"
    yield _case(base, "just that", "1", "1", "2 + 2 + 1 of 5")
    yield _case(base, "no option chosen", "3/5", "3/5", "2 + 0 + 1 of 5", options={})
    yield _case(base, "red", "4/5", "4/5", "2 + 1 + 1 of 5", options={"color": "red"})
    yield _case(base, "red, small", "4/5", "4/5", "2 + 1 + 1 of 5", options={"color": "red", "size": "small"})
    yield _case(
        *(base, "red, x-large at $21", "4/5", "3/5", "the original charges $9.5, the first price, for each size"),
        options={"color": "red", "size": "x-large"},
    )
    yield _case(
        *("x-large, two attributes, at most $20", "x-large at $21", "1", "3/4", "price of the chosen variant"),
        options={"size": "x-large"},
        goal=_wants(size="x-large"),
    )
    yield _case(
        *(base, "$25, but large costs $15", "4/5", "1", "price of the chosen variant, to the buyer's good"),
        product=replace(MUG, price=25.0, option_prices={("size", "large"): 15.0}),
    )
    yield _case(
        *(base, "color blue, trim red, large", "1", "4/5", "the original takes a value under any name"),
        options={"color": "blue", "trim": "red", "size": "large"},
    )
    yield _case(
        *(base, "red, fit: size", "1", "4/5", "the original takes the value “size” for a wanted “size: large”"),
        options={"color": "red", "fit": "size"},
    )
    yield _case(
        *(base, "infrared, large", "1", "4/5", "“red” inside “infrared”"),
        options={"color": "infrared", "size": "large"},
    )
    yield _case(
        *("tan and the rest", "standard, large", "1", "4/5", "“tan” inside “standard”"),
        options={"color": "standard", "size": "large"},
        goal=_wants(color="tan", size="large"),
    )
    yield _case(
        *("grey and the rest", "light grey, large", "1", "4/5", "the original keeps only the colour word"),
        options={"color": "light grey", "size": "large"},
        goal=_wants(color="grey", size="large"),
    )
    yield _case(
        *("sky blue and the rest", "navy blue, large", "1", "4/5", "the original keeps only the colour word"),
        options={"color": "navy blue", "size": "large"},
        goal=_wants(color="sky blue", size="large"),
    )
    yield _case(
        *("gray and the rest", "Grey, large", "4/5", "1", "one colour in two spellings"),
        options={"color": "Grey", "size": "large"},
        goal=_wants(color="gray", size="large"),
    )
    yield _case(
        *("“red” and “wine red”, unnamed", "red", "1", "4/5", "one click serves two wants in the original"),
        options={"color": "red"},
        goal=replace(_wants(**{"0": "red", "1": "wine red"}), options_are_named=False),
    )
    yield _case(
        *("pack of 2, red", "pack of 12, red", "1", "4/5", "numbers are exact; the original finds the two 95% alike"),
        options={"color": "red", "pack": "pack of 12"},
        goal=_wants(color="red", pack="pack of 2"),
    )
    yield _case(
        *("size 8.5, red", "size 8, red", "1", "4/5", "numbers are exact; the original reads 8.5 as 8 and 5"),
        options={"color": "red", "size": "8"},
        goal=_wants(color="red", size="8.5"),
    )
    yield _case(
        *(base, "another mug, its text says both", "1", "1", "attributes may be read from the text"),
        product=replace(OTHER, bullets=("Dishwasher safe", "With a non-slip foot.", "Non slip")),
    )
    yield _case(
        *("slip and dishwasher safe", "a “Slipper” mug", "1", "4/5", "“slip” inside “Slipper”"),
        product=replace(_knows("dishwasher safe"), title="Slipper Coffee Mug"),
        goal=replace(GOAL, attributes=("slip", "dishwasher safe")),
    )
    yield _case(
        *(base, "“It is not dishwasher safe.”", "1", "4/5", "what a text denies, it does not claim"),
        product=replace(_knows("non slip"), description="It is not dishwasher safe."),
    )
    yield _case(
        *(
            "stainless steel, non slip",
            "known: “steel”, “non slip”",
            "1",
            "4/5",
            "any one word matches in the original",
        ),
        product=_knows("steel", "non slip"),
        goal=replace(GOAL, attributes=("stainless steel", "non slip")),
    )
    yield _case(
        *(base, "a coffee mug rack", "1", "0", "half of the title's words are shared; it is no mug"),
        product=replace(RACK, attributes=MUG.attributes),
    )
    yield _case(
        *(base, "a right cup, no word of the title shared", "0", "1", "titles decide nothing in the strict rule"),
        product=replace(_knows("dishwasher safe", "non slip"), title="Stoneware Cup"),
    )
    yield _case(
        *(base, "a right mug, 1 of 12 title words shared", "1/10", "1", "the same, where under a tenth is shared"),
        product=_knows("dishwasher safe", "non slip"),
        target=LONG,
    )
    yield _case(
        *(base, "a book, 1 of 6 title words shared", "1/2", "0", "another kind of product is worth nothing"),
        product=replace(RACK, title="Harbor Stories", query="books", attributes=MUG.attributes),
        target=SIX,
    )
    yield _case(
        *(
            base,
            "a tea mug, next to it in the shop",
            "1",
            "1/2",
            "two shared category parts: a neighbour, not the kind",
        ),
        product=replace(_knows("dishwasher safe", "non slip"), title="Tea Mug", query="tea mugs"),
    )
    yield _case(
        *(base, "found by the same query, filed under tools", "1", "1/2", "the category contradicts the query"),
        product=replace(_knows("dishwasher safe", "non slip"), product_category="Tools › Brushes"),
    )
    yield _case(base, "just that, but for $25", "4/5", "4/5", "2 + 2 + 0 of 5", product=replace(MUG, price=25.0))
    yield _case(
        *("the same without a price limit", "no option chosen", "3/5", "1/2", "a term that is absent does not count"),
        options={},
        goal=replace(GOAL, price_upper=NO_LIMIT),
    )
    yield _case(
        *("no option, two attributes, at most $20", "every option clicked", "1", "1", "extra clicks do not matter"),
        options={"color": "blue", "size": "small", "trim": "red"},
        goal=_wants(),
    )


CASES = tuple(_cases())


def table() -> str:
    """The cases as a Markdown table."""
    lines = ["| | wanted | bought | original | strict | why |", "|---|---|---|---|---|---|"]
    for number, case in enumerate(CASES, start=1):
        differ = "**" if case.original != case.strict else ""
        scores = f"{_decimal(case.original)} | {differ}{_decimal(case.strict)}{differ}"
        lines.append(f"| {number} | {case.wanted} | {case.bought} | {scores} | {case.why} |")
    return "\n".join(lines)


def _decimal(score: Fraction) -> str:
    return f"{float(score):g}"
