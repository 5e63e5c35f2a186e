"""What an observation repeats of the turns before it, as in the original. A value, so snapshots may hold it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

__all__ = ["History"]

_JOINT = " [SEP] "


@dataclass(frozen=True)
class History:
    """The last pages and actions of an episode.

    Args:
        most_pages: How many earlier observations are repeated (`num_prev_obs`).
        most_actions: How many actions are repeated (`num_prev_actions`).
        pages: Those kept, the latest last.
        actions: The same.

    >>> begun = History(most_pages=1, most_actions=1)
    >>> begun.before("page a")
    'page a'
    >>> begun.after("page a").acted("click[b]").before("page b")
    'page a [SEP] click[b] [SEP] page b'
    """

    most_pages: int = 0
    most_actions: int = 0
    pages: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()

    def acted(self, action: str) -> History:
        """The history once an action was taken."""
        return self._with(self.pages, (*self.actions, action))

    def after(self, page: str) -> History:
        """The history once a page was shown."""
        return self._with((*self.pages, page), self.actions)

    def before(self, page: str) -> str:
        """A page with what is repeated in front of it: an earlier page, what was done there, the next page, ..."""
        told = [page]
        for earlier, action in zip_longest(reversed(self.pages), reversed(self.actions)):
            told += [text for text in (action, earlier) if text is not None]
        return _JOINT.join(reversed(told)) if self.most_pages or self.most_actions else page

    def _with(self, pages: tuple[str, ...], actions: tuple[str, ...]) -> History:
        kept = pages[len(pages) - min(len(pages), self.most_pages) :]
        done = actions[len(actions) - min(len(actions), self.most_actions) :]
        return History(self.most_pages, self.most_actions, kept, done)
