"""Families of generated terminal tasks: one module a family, each with one `FAMILY`. Their order fixes that of ids."""

from agentenv.tasks.terminal.families import (
    files_and_folders,
    json_files,
    links,
    permissions,
    search_replace,
    text_processing,
)
from agentenv.tasks.terminal.scenario import Family

__all__ = ["FAMILIES"]

FAMILIES: tuple[Family, ...] = (
    files_and_folders.FAMILY,
    permissions.FAMILY,
    links.FAMILY,
    text_processing.FAMILY,
    search_replace.FAMILY,
    json_files.FAMILY,
)
