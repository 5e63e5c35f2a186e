"""How pages of the shop look. Invariant: every rendering is a fold over the same pieces, so that they agree.

`pieces.compose` says what a page holds, in order; `text`, `react`, `html` and `urls` each turn that into one form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from agentenv.tasks.webshop.pages import compact, html, react, text, urls
from agentenv.tasks.webshop.pages.pieces import Piece, compose
from agentenv.tasks.webshop.shop import Click, Shop, State

__all__ = ["OBSERVATIONS", "Visit", "render"]


@dataclass(frozen=True)
class Visit:
    """A page as somebody sees it.

    Args:
        shop: The shop.
        state: The page.
        instruction: What the customer wants.
        session: Names the visit in URLs.
        click: What led here, where a click did.
        score: The score of the purchase, on the last page.
        code: The code that a person is given there.
    """

    shop: Shop
    state: State
    instruction: str
    session: str
    click: Click | None = None
    score: float | None = None
    code: str = ""

    def pieces(self) -> list[Piece]:
        """What the page holds."""
        return compose(self.shop, self.state, self.instruction, self.score, self.code)


def _compact(visit: Visit) -> str:
    return compact.render(visit.pieces(), visit.state, visit.shop)


def _html(visit: Visit) -> str:
    return html.render(visit.pieces(), visit.state, visit.shop, visit.session)


def _react(visit: Visit) -> str:
    return react.render(visit.pieces(), visit.state, visit.click)


def _text(visit: Visit) -> str:
    return text.plain(visit.pieces())


def _text_rich(visit: Visit) -> str:
    return text.rich(visit.pieces())


def _url(visit: Visit) -> str:
    return urls.shown(visit.state, visit.session)


#: The observation modes.
OBSERVATIONS: Mapping[str, Callable[[Visit], str]] = MappingProxyType(
    {"text": _text, "text_rich": _text_rich, "html": _html, "url": _url, "react": _react, "compact": _compact}
)


def render(observation: str, visit: Visit) -> str:
    """The page in one of the `OBSERVATIONS`."""
    return OBSERVATIONS[observation](visit)
