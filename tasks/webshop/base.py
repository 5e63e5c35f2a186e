"""What a web shop sells and what a customer wants. Invariant: a product has its prices from the start."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Goal", "Product", "Purchase"]


@dataclass(frozen=True)
class Product:
    """One product, as its page shows it.

    Args:
        asin: At most 10 characters, upper case; unique in a catalogue.
        title: Its name.
        description: Running text; may be empty.
        bullets: The feature list.
        category: "beauty", "electronics", "fashion", "garden" or "grocery".
        product_category: "A › B › C"; may be empty.
        query: What a customer would search for, in lower case ("console tables").
        attributes: What is known to be true of it ("non slip"); hidden from customers.
        prices: One price, or the two ends of a range; as shown on the pages.
        price: What it costs without an option that has a price of its own.
        options: By lower-case option name the lower-case values, in the order shown.
        option_prices: (name, value) to the price of that variant, where it differs from `price`.
        image: A URL; may be empty.
        reviews: (title, text, rating) triples; the pages show "N.A." without.
    """

    asin: str
    title: str
    description: str
    bullets: tuple[str, ...]
    category: str
    product_category: str
    query: str
    attributes: tuple[str, ...]
    prices: tuple[float, ...]
    price: float
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    option_prices: Mapping[tuple[str, str], float] = field(default_factory=dict, hash=False)
    image: str = ""
    reviews: tuple[tuple[str, str, float], ...] = ()


@dataclass(frozen=True)
class Goal:
    """What a customer wants.

    Args:
        id: Unique in its task set.
        asin: The product it was made from.
        instruction: What the agent reads.
        attributes: Wanted attributes.
        options: Wanted options by name; original human goals name only values, under "0", "1", ... then.
        price_upper: The limit, in dollars; 1000000 for none.
        split: "train", "val", "test" or "ood".
        difficulty: "easy", "medium" or "hard".
        options_are_named: Whether the keys of `options` are option names.
    """

    id: str
    asin: str
    instruction: str
    attributes: tuple[str, ...]
    options: Mapping[str, str] = field(hash=False)
    price_upper: float
    split: str = "train"
    difficulty: str = ""
    options_are_named: bool = True


@dataclass(frozen=True)
class Purchase:
    """What was bought: the product, the chosen options by name, and what it cost."""

    product: Product
    options: Mapping[str, str] = field(hash=False)
    price: float
