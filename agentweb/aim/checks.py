"""System checks of the messenger: does every address answer, and we alone there?

========== =============================================================================================
E080       the messenger is not served by HTTPS
W080       another view of the site, or an action, answers at an address of the messenger, or never gets asked
W081       the messenger's manifest does not answer at the root of the host
W082       django-cors-headers covers the messenger's addresses and would answer by the site's own policy
========== =============================================================================================
"""

from __future__ import annotations

import re
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning

from agentweb import conf
from agentweb.aim import mount
from agentweb.aim.routes import ROUTES
from agentweb.catalog.registry import registry
from agentweb.conf import runs
from agentweb.http import cors
from agentweb.http.doors import advertised
from agentweb.http.mount import mount_prefix
from agentweb.http.site_urls import NO_SUCH_PATH
from agentweb.http.urlconf import is_ours, name_of, other_views, views_at

_VARIES: Final = re.compile(r"\{[a-z_]+\}")
_SAMPLE: Final = "agentweb-check"
_LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})


def check_scheme(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """E080. A tunnel or a test may well be plain on the machine itself."""
    parts = urlsplit(str(conf.get("ORIGIN") or ""))
    if parts.scheme != "http" or settings.DEBUG or runs.is_test() or parts.hostname in _LOCAL:
        return []
    return [
        Error(
            f"AGENTWEB['ORIGIN'] is {conf.get('ORIGIN')}: the messenger is served by HTTPS only.",
            hint="Serve the site by HTTPS and write https://, or leave 'aim' out of AGENTWEB['ROOMS'].",
            id="agentweb.E080",
        )
    ]


def check_addresses(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W080. Where nothing of ours is included at all, W040 and W081 speak."""
    if not _is_included():
        return []
    prefix = mount_prefix()
    catch_alls = {*views_at(NO_SUCH_PATH), *views_at(prefix + NO_SUCH_PATH)}
    first = next(views_at(f"{prefix}/{mount.POLICY}"))
    if first in catch_alls and not is_ours(first):
        return _nothing_answers(name_of(first))
    found: list[CheckMessage] = [
        Warning(
            f"{other} answers at {shown} too, an address of the messenger.",
            hint="Give it another address, or write the patterns of agentweb.urls above one that takes many paths; or "
            "leave 'aim' out of AGENTWEB['ROOMS'] if the site's agents need no messenger.",
            id="agentweb.W080",
        )
        for shown, path in _addresses(prefix)
        for other in other_views(path, catch_alls)
    ]
    found += [
        Warning(
            f"The action {action.name!r} has the address {action.path}, which is the messenger's.",
            hint="Give the action another path, or leave 'aim' out of AGENTWEB['ROOMS'].",
            obj=action.where,
            id="agentweb.W080",
        )
        for action in registry.actions()
        if _is_ours(action.path)
    ]
    return found


def _nothing_answers(other: str) -> list[CheckMessage]:
    """One W080 for all addresses; none where W040 of the other room says the same."""
    if advertised("receipts") is not None:
        return []
    return [
        Warning(
            f"{other} stands before agentweb.urls in the URLconf and takes all of its requests: the messenger does not "
            "answer.",
            hint='Write path("", include("agentweb.urls")) above the pattern that catches all.',
            id="agentweb.W080",
        )
    ]


def check_well_known(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W081. Of a view that stands before ours at that address, W080 speaks."""
    if not _is_included() or any(map(is_ours, views_at(f"/{mount.MANIFEST}"))):
        return []
    return [
        Warning(
            f"/{mount.MANIFEST} does not answer; agents look for it at the root of the host.",
            hint="Add *agentweb.urls.well_known to the urlpatterns of your root URLconf.",
            id="agentweb.W081",
        )
    ]


def check_cors(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W082."""
    if cors.MIDDLEWARE not in settings.MIDDLEWARE or not _is_included():
        return []
    covered = [shown for shown, path in _addresses(cors.prefix_seen()) if cors.covers(path)]
    if not covered:
        return []
    return [
        Warning(
            f"CORS_URLS_REGEX covers {covered[0]} and so addresses of the messenger: django-cors-headers answers "
            "their preflights.",
            hint=cors.hint(),
            id="agentweb.W082",
        )
    ]


def _addresses(prefix: str) -> list[tuple[str, str]]:
    """Every address as it is written down, and as one that could be asked for."""
    shown = [f"{'' if route.is_well_known else prefix}/{route.path}" for route in ROUTES]
    return [(each, _VARIES.sub(_SAMPLE, each)) for each in shown]


def _is_included() -> bool:
    if not getattr(settings, "ROOT_URLCONF", None):
        return False
    return any(is_ours(view) for view in views_at(f"{mount_prefix()}/{mount.POLICY}"))


def _is_ours(path: str) -> bool:
    """Whether one of our routes fits a path of an action."""
    given = path.strip("/").split("/")
    return any(
        len(given) == len(parts)
        and all(
            "{" in mine or "{" in their or mine == their for mine, their in zip(parts, given, strict=True)
        )
        for parts in (route.path.split("/") for route in ROUTES)
    )


CHECKS: Final = (check_scheme, check_addresses, check_well_known, check_cors)
"""What ``agentweb.checks`` runs for this room."""
