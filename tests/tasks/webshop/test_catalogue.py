"""The generated catalogue: what is true of products is told, what is not is not, and traps are there."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections import Counter

import pytest
from rapidfuzz import fuzz, utils

from agentenv.errors import ConfigurationError
from agentenv.tasks.webshop.catalogue import LOT, GeneratedCatalogue, group_of_lot
from agentenv.tasks.webshop.reward.words import Phrase, spaced
from agentenv.tasks.webshop.vocabulary import CLOSINGS, DIMENSIONS, GROUPS, OPENINGS, Group

PRODUCTS = tuple(GeneratedCatalogue(800))
BUTTONS = {
    "back to search",
    "< prev",
    "next >",
    "description",
    "features",
    "reviews",
    "attributes",
    "buy now",
    "search",
}
EACH_GROUP = pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.query)


@EACH_GROUP
def test_no_attribute_of_a_group_passes_for_another(group: Group) -> None:
    assert len(set(group.attributes)) == len(group.attributes)
    for one, other in itertools.permutations(group.attributes, 2):
        assert one not in other
        assert fuzz.token_set_ratio(one, other, processor=utils.default_process) <= 85


@EACH_GROUP
def test_no_attribute_stands_in_words_that_every_product_may_use(group: Group) -> None:
    values = [value for key in group.dimensions for value in DIMENSIONS[key].values]
    said = " | ".join([group.query, group.path, group.accessory, *group.uses, *values, *OPENINGS, *CLOSINGS]).lower()
    assert not [attribute for attribute in group.attributes if attribute in said]


@EACH_GROUP
def test_each_option_value_of_a_group_is_one_click(group: Group) -> None:
    names = [DIMENSIONS[key].name for key in group.dimensions]
    values = [value for key in group.dimensions for value in DIMENSIONS[key].values]
    assert len(set(names)) == len(names)
    assert len(set(values)) == len(values)
    assert not BUTTONS & set(values)
    assert all(value == value.lower() and "/" not in value and "[" not in value for value in values)


def test_all_that_is_true_of_a_product_is_told_and_the_rest_is_denied_or_absent() -> None:
    for number, product in list(enumerate(PRODUCTS))[:400:3]:
        said = [spaced(text) for text in (product.title, product.description, *product.bullets)]
        for attribute in group_of_lot(number // LOT).attributes:
            phrase = Phrase(attribute)
            claims = [claim for text in said for claim in phrase.claims_in(text)]
            assert (True in claims) == (attribute in product.attributes), (product, attribute)
            assert not {True, False} <= set(claims), (product, attribute)


def test_products_are_as_the_format_wants_them() -> None:
    assert len({product.asin for product in PRODUCTS}) == len(PRODUCTS)
    for product in PRODUCTS:
        assert len(product.asin) == 10
        assert product.asin == product.asin.upper()
        assert product.prices[0] == product.price == min(product.prices)
        assert product.query == product.query.lower()
        for (name, value), price in product.option_prices.items():
            assert value in product.options[name]
            assert price != product.price
    assert {product.category for product in PRODUCTS} == {"beauty", "electronics", "fashion", "garden", "grocery"}


def test_every_lot_holds_its_traps() -> None:
    for number in range(50):
        lot, group = GeneratedCatalogue(800).lot(number), group_of_lot(number)
        own = [product for product in lot if product.query == group.query]
        accessory = next(product for product in lot if product.query != group.query)
        assert group.query in accessory.title.lower()
        assert group.path != accessory.product_category
        same = Counter(frozenset(product.attributes) for product in own)
        attributes, copies = same.most_common(1)[0]
        # Base, other values, fewer values, far too dear.
        assert copies >= 4
        assert any(len(attributes & set(product.attributes)) == 4 for product in own)
        alike = [product for product in own if set(product.attributes) == attributes]
        assert max(product.price for product in alike) > 1.8 * min(product.price for product in alike)
        assert len({tuple(product.options.items()) for product in alike}) >= 2


def test_a_larger_catalogue_begins_with_the_smaller_one() -> None:
    assert tuple(itertools.islice(GeneratedCatalogue(10_000), 21)) == tuple(GeneratedCatalogue(21)) == PRODUCTS[:21]


def test_seeds_give_different_catalogues() -> None:
    other = tuple(GeneratedCatalogue(8, seed=1))
    assert not {product.title for product in other} & {product.title for product in PRODUCTS[:8]}
    assert GeneratedCatalogue(8, seed=1).fingerprint != GeneratedCatalogue(8).fingerprint


def test_a_catalogue_without_products_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="size=0"):
        GeneratedCatalogue(0)


def test_products_are_the_same_in_another_process() -> None:
    program = "from agentenv.tasks.webshop.catalogue import *; print(list(GeneratedCatalogue(50))[-1])"
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == str(PRODUCTS[49])
