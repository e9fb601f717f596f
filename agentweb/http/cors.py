"""The expression that keeps django-cors-headers off all paths of ours, made in one place, whoever prints it.

A room says where its URLs are declared how its paths begin; what it advertises beside is added.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from django.conf import settings

from agentweb.http.documents import Place
from agentweb.http.doors import all_doors
from agentweb.http.mount import mount_prefix
from agentweb.http.urlconf import path_info

MIDDLEWARE: Final = "corsheaders.middleware.CorsMiddleware"
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


def setting() -> str:
    """``CORS_URLS_REGEX = r"…"``, which leaves every path of every room that is on to agentweb."""
    prefix = prefix_seen()
    found = [WELL_KNOWN]
    for room in sorted(_rooms) if getattr(settings, "ROOT_URLCONF", None) else ():
        found += _rooms[room](re.escape(prefix))
    place = Place("", "", prefix)
    for path in (door.path_at(place) for door in all_doors()):
        if not re.match("|".join(found), path):
            found.append(re.escape(path))
    return f'CORS_URLS_REGEX = r"^(?!{"|".join(dict.fromkeys(found))})"'


def hint() -> str:
    """What to do where ``covers`` finds one of our paths."""
    return (
        "They are open to every origin without credentials, and agentweb answers for itself. Keep django-cors-headers "
        f"off all of agentweb's paths: {setting()}"
    )
