"""Settings: one ``AGENTWEB`` dict in the site's settings module.

Every key stands in ``SETTINGS`` with its group, default and a sentence; ``get()`` reads at use, so
``override_settings`` works and nothing has to be reloaded. ``problems()`` says what is wrong with the
dict as it stands; the system checks report it.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

from django.conf import settings

from agentweb.conf.table import GROUPS, SETTINGS
from agentweb.conf.values import ROOMS, UNIX, UNLESS_NAMED, Proxy, Setting, proxy_of

__all__ = [
    "GROUPS",
    "ROOMS",
    "SETTINGS",
    "UNIX",
    "UNLESS_NAMED",
    "Proxy",
    "Setting",
    "dangers",
    "get",
    "get_in",
    "problems",
    "proxy_of",
    "setting_of",
]

# Where Django's settings object remembers what it was asked for, emptied when a setting changes: a call asks us a dozen
# times, and going through the object takes ten times as long.
_remembered: Final[dict[str, Any]] = object.__getattribute__(settings, "__dict__")


def get(name: str) -> Any:
    """The site's value of a setting, else its default. An unknown name is a programming error (KeyError)."""
    default = SETTINGS[name].default
    values = _remembered.get("AGENTWEB")
    if values is None:
        values = getattr(settings, "AGENTWEB", {})
    return values.get(name, default) if type(values) is dict or isinstance(values, Mapping) else default


def get_in(group: str, name: str) -> Any:
    """The same of a setting in one that is a dict: ``get_in("AWP", "NAME")``."""
    default = GROUPS[group][name].default
    values = get(group)
    return values.get(name, default) if isinstance(values, Mapping) else default


def setting_of(key: str) -> Setting | None:
    """The setting that a key of ``problems`` names, None for what is no setting."""
    group, _, name = key.partition(".")
    return GROUPS.get(group, {}).get(name) if name else SETTINGS.get(key)


def problems() -> list[tuple[str, str, str | None]]:
    """What is wrong with the AGENTWEB dict: (key, what is wrong, nearest known key or None).

    A key in a setting that is a dict itself is ``AWP.NAME``.
    """
    values = getattr(settings, "AGENTWEB", {})
    if not isinstance(values, Mapping):
        return [("AGENTWEB", "must be a dict", None)]
    found = _problems(values, SETTINGS)
    for group, known in GROUPS.items():
        if isinstance(values.get(group), Mapping):
            found += [
                (f"{group}.{key}", wrong, nearest) for key, wrong, nearest in _problems(values[group], known)
            ]
    return found


def _problems(values: Mapping[Any, Any], known: Mapping[str, Setting]) -> list[tuple[str, str, str | None]]:
    found: list[tuple[str, str, str | None]] = []
    for key, value in values.items():
        setting = known.get(key)
        if setting is None:
            nearest = difflib.get_close_matches(str(key).upper(), known, n=1)
            found.append((str(key), "is not a setting of agentweb", nearest[0] if nearest else None))
        elif (wrong := setting.check(value)) is not None:
            found.append((key, wrong, None))
    return found


def dangers() -> list[tuple[str, str, str]]:
    """What in the settings beside AGENTWEB makes us answer wrongly: (id of the check, what is wrong, hint).

    These also keep the site from starting, for servers do not run checks.
    """
    if settings.USE_TZ:
        return []
    return [
        (
            "agentweb.E005",
            "USE_TZ is False: ends of grants, leases and limits are instants, and the database would keep local "
            "times without their zone, an hour of which comes twice a year.",
            "Write USE_TZ = True, Django's default since 5.0; TIME_ZONE stays what people see.",
        )
    ]
