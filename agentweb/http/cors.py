"""Which paths are ours and not django-cors-headers', and the expression that keeps it off them, whoever prints it.

A room says where its URLs are declared how its paths begin; what it advertises beside is added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final

from django.conf import settings
from django.core.signals import setting_changed
from django.dispatch import receiver

from agentweb.http.documents import Place
from agentweb.http.doors import all_doors
from agentweb.http.mount import mount_prefix
from agentweb.http.urlconf import path_info

MIDDLEWARE: Final = "corsheaders.middleware.CorsMiddleware"
OWN_MIDDLEWARE: Final = "agentweb.middleware.CorsMiddleware"
WELL_KNOWN: Final = r"/\.well-known/"

_rooms: Final[dict[str, Callable[[str], Iterable[str]]]] = {}


def keep_off(room: str, beginnings: Callable[[str], Iterable[str]]) -> None:
    """Register a room. ``beginnings(prefix)`` are regular expressions of how its paths begin now, where its URLs are
    included below ``prefix``, itself one; none where they are not."""
    _rooms[room] = beginnings


def covers(path: str) -> bool:
    """Whether django-cors-headers, as the site has set it up, answers for this path of a request."""
    return re.match(getattr(settings, "CORS_URLS_REGEX", r"^.*$"), path) is not None


def prefix_seen() -> str:
    """What stands before our paths where middleware sees them; empty for a site at the root of its host."""
    return path_info(f"{mount_prefix()}/").rstrip("/") if getattr(settings, "ROOT_URLCONF", None) else ""


def is_ours(path: str) -> bool:
    """Whether agentweb says itself, for this path of a request, what other origins may do."""
    return _ours().match(path) is not None


@cache
def _ours() -> re.Pattern[str]:
    return re.compile("|".join(_beginnings()))


def _beginnings() -> list[str]:
    """Regular expressions of how the paths of every room that is on begin."""
    prefix = prefix_seen()
    found = [WELL_KNOWN]
    for room in sorted(_rooms) if getattr(settings, "ROOT_URLCONF", None) else ():
        found += _rooms[room](re.escape(prefix))
    place = Place("", "", prefix)
    for path in (door.path_at(place) for door in all_doors()):
        if not re.match("|".join(found), path):
            found.append(re.escape(path))
    return list(dict.fromkeys(found))


def setting() -> str:
    """``CORS_URLS_REGEX = r"…"``, which leaves every path of every room that is on to agentweb."""
    return f'CORS_URLS_REGEX = r"^(?!{"|".join(_beginnings())})"'


def hint() -> str:
    """What to do where ``covers`` finds one of our paths."""
    return (
        f"They are open to every origin without credentials, and agentweb answers for itself. Put {OWN_MIDDLEWARE} in "
        f"place of {MIDDLEWARE}, or keep django-cors-headers off all of agentweb's paths: {setting()}"
    )


@receiver(setting_changed, dispatch_uid="agentweb.http.cors")
def _forget(**kwargs: Any) -> None:
    _ours.cache_clear()
