"""System checks: gathered here from the floors and the rooms. Ids and meanings: ``docs/reference/checks.md``."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from django.apps import AppConfig
from django.conf import settings
from django.core import checks

from agentweb import conf, rooms
from agentweb.access.checks import check_durability, check_site_key, check_transaction_mode
from agentweb.catalog.checks import check_declarations, nothing_declared
from agentweb.catalog.drf.view_checks import check_views
from agentweb.catalog.registry import registry
from agentweb.ledger.checks import check_money
from agentweb.people.checks import check_approval_pages, check_login

TAG: Final = "agentweb"
DISTRIBUTION: Final = "agentweb-django"

_HERE: Final = Path(__file__).resolve().parent


def check_settings(
    app_configs: Sequence[AppConfig] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """The AGENTWEB dict: unknown keys, bad values, an origin that is not fixed; and times without a zone."""
    found: list[checks.CheckMessage] = []
    for key, wrong, nearest in conf.problems():
        where, known = _where(key)
        setting = conf.setting_of(key)
        if setting is not None or key == "AGENTWEB":
            found.append(
                checks.Error(
                    f"{where} {wrong}.",
                    hint="Write AGENTWEB = {...}." if setting is None else setting.sentence,
                    id="agentweb.E002",
                )
            )
        else:
            found.append(
                checks.Error(
                    f"{where} {wrong}.",
                    hint=f"Did you mean {nearest!r}?" if nearest else f"Known: {', '.join(known)}.",
                    id="agentweb.E001",
                )
            )
    if conf.get("ORIGIN") is None and not settings.DEBUG:
        # Otherwise a Host header chooses the audience of grants and what is cached for others.
        found.append(
            checks.Error(
                "AGENTWEB['ORIGIN'] is not set.",
                hint="Write AGENTWEB = {'ORIGIN': 'https://shop.example'}: agents sign for this name. "
                "The request's host is used under DEBUG only.",
                id="agentweb.E003",
            )
        )
    found += [checks.Error(message, hint=hint, id=ident) for ident, message, hint in conf.dangers()]
    return found


def _where(key: str) -> tuple[str, Iterable[str]]:
    """A key of ``conf.problems`` as the site writes it, and the keys that are known there."""
    group, _, name = key.partition(".")
    if key == "AGENTWEB":
        return key, conf.SETTINGS
    if name and group in conf.GROUPS:
        return f"AGENTWEB[{group!r}][{name!r}]", conf.GROUPS[group]
    return f"AGENTWEB[{key!r}]", conf.SETTINGS


def check_distribution(
    app_configs: Sequence[AppConfig] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """Whether another installed package also calls itself ``agentweb``: then files of both are mixed or hidden."""
    others = sorted(
        {
            found.name
            for found in metadata.distributions()
            if _provides_us(found) and _normal(found.name) != DISTRIBUTION
        }
    )
    strays = sorted(
        str(folder) for folder in map(Path, sys.modules["agentweb"].__path__) if folder.resolve() != _HERE
    )
    if not others and not strays:
        return []
    return [
        checks.Error(
            f"Another package also provides 'agentweb': {', '.join(others + strays)}.",
            hint=f"Uninstall it, then install {DISTRIBUTION} again: one may have overwritten files of the other.",
            id="agentweb.E004",
        )
    ]


def check_anything_declared(
    app_configs: Sequence[AppConfig] | None = None, **kwargs: Any
) -> list[checks.CheckMessage]:
    """W014. A messenger alone needs no actions, and pages may be for reading only."""
    on = rooms.switched_on()
    is_of_use = "agent_actions" in on or ("aip" in on and not registry.pages())
    if not is_of_use or registry.faults() or registry.actions():
        return []
    return [nothing_declared()]


def check_signing_key(databases: Sequence[str] | None = None, **kwargs: Any) -> list[checks.CheckMessage]:
    """W033 and W034, where anything is signed with a key of the site."""
    return check_site_key(databases) if rooms.takes_grants() else []


def check_rooms(app_configs: Sequence[AppConfig] | None = None, **kwargs: Any) -> list[checks.CheckMessage]:
    """What each protocol room has to say: mostly, whether what it advertises answers."""
    return [message for check in rooms.checks() for message in check(app_configs)]


def _provides_us(distribution: metadata.Distribution) -> bool:
    # By hand: metadata.packages_distributions() parses every file list, which takes a good part of a second.
    names = distribution.read_text("top_level.txt")
    if names is not None:
        return "agentweb" in names.split()
    return "\nagentweb/" in "\n" + (distribution.read_text("RECORD") or "")


def _normal(name: str) -> str:
    """PEP 503: how distribution names compare."""
    return name.lower().replace("_", "-").replace(".", "-")


for check in (
    check_settings,
    check_distribution,
    check_declarations,
    check_anything_declared,
    check_transaction_mode,
    check_money,
):
    checks.register(check, TAG)
checks.register(check_rooms, TAG, checks.Tags.urls)
checks.register(check_views, TAG, checks.Tags.urls)
checks.register(check_approval_pages, TAG, checks.Tags.urls)
checks.register(check_login, TAG, checks.Tags.urls)
for check in (check_durability, check_signing_key):
    checks.register(check, TAG, checks.Tags.database)
