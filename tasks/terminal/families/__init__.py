"""Families of generated terminal tasks: one module a family, each with one `FAMILY`. Their order fixes that of ids."""

from agentenv.tasks.terminal.families import (
    archives,
    checksums,
    config_files,
    cron_scripts,
    csv_tables,
    diff_patch,
    disk_usage,
    dotfiles,
    encodings,
    env_path,
    files_and_folders,
    git_branches,
    git_history,
    json_files,
    links,
    logs,
    permissions,
    renames,
    search_replace,
    shell_scripts,
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
    csv_tables.FAMILY,
    logs.FAMILY,
    archives.FAMILY,
    checksums.FAMILY,
    encodings.FAMILY,
    renames.FAMILY,
    json_files.FAMILY,
    git_history.FAMILY,
    git_branches.FAMILY,
    config_files.FAMILY,
    disk_usage.FAMILY,
    diff_patch.FAMILY,
    shell_scripts.FAMILY,
    cron_scripts.FAMILY,
    env_path.FAMILY,
    dotfiles.FAMILY,
)
