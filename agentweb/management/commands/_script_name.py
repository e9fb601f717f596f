"""What the commands share that speak of addresses: where the server mounts Django, when only the server knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.management.base import CommandParser
from django.urls import get_script_prefix, set_script_prefix


def add_script_name(parser: CommandParser) -> None:
    """The option ``--script-name``."""
    parser.add_argument(
        "--script-name",
        default=None,
        metavar="/PATH",
        help="Where the server mounts Django, when FORCE_SCRIPT_NAME does not say it.",
    )


@contextmanager
def mounted(script_name: str | None) -> Iterator[None]:
    """Inside, addresses begin with ``script_name``; as the settings have it when that is None."""
    before = get_script_prefix()
    if script_name is not None:
        path = script_name.strip("/")
        set_script_prefix(f"/{path}/" if path else "/")
    try:
        yield
    finally:
        set_script_prefix(before)
