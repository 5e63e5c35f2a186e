"""Services are judged by what they answer."""

from __future__ import annotations

import pytest

from agentenv.tasks.terminal.families import _serving


@pytest.mark.parametrize(
    ("reply", "fits"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nyes\n", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes", True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes and more", True),
        (b"HTTP/1.0 404 Not Found\r\n\r\nyes", False),
        (b"HTTP/1.0 200 OK\r\n\r\nno", False),
        (b"HTTP/1.0 200 OK\r\nyes", False),
        (b"yes", False),
        (b"", False),
    ],
)
def test_reply_fits_with_status_200_and_the_right_body(reply: bytes, fits: bool) -> None:
    assert _serving._fits(reply.hex(), "yes\n") is fits
