"""What `make train` runs, environment by environment: the warm start and how it is made, the arms and their settings.

Every setting here was chosen on `train` and `val`. Command lines take their defaults from the preset of their `--env`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from agentenv.baselines import bc, grpo

__all__ = ["PRESETS", "SEARCH", "TERMINAL", "WEBSHOP", "Preset", "env_in", "parse", "preset_of"]

Credit = Literal["procredit", "outcome"]
_Args = TypeVar("_Args")


@dataclass(frozen=True)
class Preset:
    """The main job on an environment.

    Args:
        policy: The shipped warm start.
        warm: How it was made.
        arms: The training settings; only credit, seed and place differ between arms.
        credits: One arm each.
        test_tasks: Held-out tasks that are evaluated.
        ood_tasks: Tasks of the `ood` split that are evaluated, apart.
        ood_kwargs: Arguments of the environment that are others on `ood`.
    """

    policy: str
    warm: bc.Args
    arms: grpo.Args
    credits: tuple[Credit, ...] = ("procredit",)
    test_tasks: int = 300
    ood_tasks: int = 100
    ood_kwargs: Mapping[str, Any] = field(default_factory=dict)


#: A model of 1.15M parameters can learn these families, and they need nothing beyond coreutils.
_SHELL_FAMILIES = (
    *("files_and_folders", "permissions", "links", "text_processing", "search_replace", "csv_tables"),
    *("logs", "archives", "checksums", "encodings", "renames"),
)
#: A budget of minutes is spread too thin over more families (tried on `val` with all eleven). In these four the warm
#: start's best guesses (temperature 0, on `val`) beat its samples by most. The unseen families of `ood` need nothing
#: beyond coreutils either.
TERMINAL = Preset(
    policy="tiny:terminal",
    warm=bc.Args(env_kwargs=json.dumps({"families": _SHELL_FAMILIES, "max_turns": 12})),
    arms=grpo.Args(
        env_kwargs=json.dumps(
            {
                "families": ("archives", "encodings", "search_replace", "links"),
                "difficulty": "medium",
                "max_turns": 6,
            }
        ),
        updates=40,
        groups=16,
        group_size=8,
        lr=1.5e-4,
        anneal_lr=True,
        epochs=2,
        minibatches=2,
        workers=128,  # two cohorts of 64: the batch that the engine samples fastest
        save_every=5,
        microbatch_tokens=1024,  # about what a core's cache holds
        tensorboard=False,
    ),
    credits=("procredit", "outcome"),
    ood_kwargs={"families": ("disk_usage", "systemd_units", "text_reports")},
)

#: Questions over two documents: the second search needs a name that only the first one's result holds.
_BRIDGE = {"tasks": "generated?kinds=bridge", "observation": "compact", "max_turns": 6}
_SEARCH_LIMITS: dict[str, Any] = {"max_prompt_tokens": 768, "max_observation_tokens": 288}
SEARCH = Preset(
    policy="tiny:search",
    warm=bc.Args(
        env="agentenv/Search-v0",
        env_kwargs=json.dumps(_BRIDGE),
        difficulties=("easy", "medium"),
        demos=8000,
        observed=0.3,
        steps=2400,
        batch_tokens=3072,
        **_SEARCH_LIMITS,
    ),
    arms=replace(
        TERMINAL.arms,
        env="agentenv/Search-v0",
        env_kwargs=json.dumps({**_BRIDGE, "difficulty": "medium"}),
        # Playing costs a quarter of an update: fresh episodes serve better than a second pass over the same.
        updates=60,
        epochs=1,
        lr=2e-4,
        **_SEARCH_LIMITS,
    ),
)

_SHOP = {"tasks": "generated:3000", "observation": "compact", "max_turns": 10}
_SHOP_LIMITS: dict[str, Any] = {"max_prompt_tokens": 768, "max_observation_tokens": 160}
WEBSHOP = Preset(
    policy="tiny:webshop",
    warm=bc.Args(
        env="agentenv/WebShop-v0",
        env_kwargs=json.dumps(_SHOP),
        difficulties=("easy", "medium"),
        demos=5000,
        observed=0.1,
        steps=2400,
        batch_tokens=3072,
        **_SHOP_LIMITS,
    ),
    arms=replace(
        TERMINAL.arms,
        env="agentenv/WebShop-v0",
        # A purchase takes four or five actions: what comes later is lost already, and costs most of the tokens.
        env_kwargs=json.dumps({**_SHOP, "difficulty": "medium", "max_turns": 6}),
        updates=36,
        lr=5e-4,
        **_SHOP_LIMITS,
    ),
)

PRESETS: Mapping[str, Preset] = {
    "agentenv/Terminal-v0": TERMINAL,
    "agentenv/Search-v0": SEARCH,
    "agentenv/WebShop-v0": WEBSHOP,
}


def preset_of(env: str) -> Preset | None:
    """The preset of an environment id, if it has one; a module in front of the id does not matter."""
    return PRESETS.get(env.rpartition(":")[2])


def env_in(argv: Sequence[str], default: str) -> str:
    """The value of `--env` on a command line.

    >>> env_in(["--out", "runs/a", "--env", "agentenv/Search-v0"], "agentenv/Terminal-v0")
    'agentenv/Search-v0'
    >>> env_in([], "agentenv/Terminal-v0")
    'agentenv/Terminal-v0'
    """
    for place, word in enumerate(argv):
        if word == "--env" and place + 1 < len(argv):
            default = argv[place + 1]
        elif word.startswith("--env="):
            default = word.removeprefix("--env=")
    return default


def parse(default: _Args, *, prog: str, description: str | None, argv: Sequence[str] | None = None) -> _Args:
    """A command line of a dataclass of arguments, whose defaults are those of `default`."""
    import tyro

    words = sys.argv[1:] if argv is None else argv
    return tyro.cli(type(default), default=default, prog=prog, description=description, args=list(words))
