"""`agentenv shop`: the shop of `agentenv/WebShop-v0` as a web site."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from http.server import ThreadingHTTPServer

from agentenv.commands.console import output_console, parse, plain
from agentenv.envs.webshop import WebShopEnv
from agentenv.errors import ConfigurationError
from agentenv.tasks.webshop.site import Site, make_server

__all__ = ["main", "serve", "site_of"]

_DESCRIPTION = """Serve the web shop to a browser.

The same products, pages, goals and scores as agentenv/WebShop-v0. / starts the next goal, /tasks lists goals,
/start/TASK starts one by name. Pages need no script. Ctrl-C ends it.

Examples:
  agentenv shop                                 on http://127.0.0.1:3000
  agentenv shop --port 8080 --split test        other goals, another port
  agentenv shop --reward original               scored as the original shop does"""


@dataclass(frozen=True)
class Options:
    """Options of `agentenv shop`."""

    host: str = "127.0.0.1"
    """The address to listen on; 0.0.0.0 lets other machines in, and everyone on them."""
    port: int = 3000
    """The port; 0 for any that is free."""
    tasks: str = "generated"
    """The goals."""
    split: str = "train"
    """Which goals / takes in turn: train, val, test or ood."""
    difficulty: str | None = None
    """Only goals of this difficulty."""
    reward: str = "strict"
    """How purchases are scored: strict or original."""
    show_attributes: bool = False
    """Whether product pages tell the products' attributes."""


def main(argv: Sequence[str]) -> int:
    """Serves until Ctrl-C."""
    options = parse(Options, argv, "shop", _DESCRIPTION)
    server = serve(options)
    host, port = server.server_address[:2]
    output_console().print(plain(f"The shop is open at http://{host!s}:{port} (goals: /tasks; Ctrl-C ends it)"))
    try:
        server.serve_forever()
    finally:
        server.server_close()
    return 0


def serve(options: Options) -> ThreadingHTTPServer:
    """A server of the shop, not serving yet.

    Raises:
        ConfigurationError: If an option cannot be used, or the address is taken.
    """

    def make_site() -> Site:
        env = WebShopEnv(
            tasks=options.tasks,
            split=options.split,
            difficulty=options.difficulty,
            reward=options.reward,
            show_attributes=options.show_attributes,
        )
        return site_of(env)

    try:
        return make_server(make_site, options.host, options.port)
    except (OSError, OverflowError) as error:
        raise ConfigurationError(
            f"cannot listen on {options.host}:{options.port} ({error}): choose another with --host or --port"
        ) from error


def site_of(env: WebShopEnv) -> Site:
    """The site that sells what this environment sells, and scores as it does."""
    task_set = env.task_set
    return Site(env.shop, task_set.ids(env.split), lambda task_id: task_set.task(task_id).instruction, env.score_of)
