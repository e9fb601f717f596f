"""Settings: the system checks once more, line by line, and how the site's address fits the rest of them."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core import checks
from django.http.request import split_domain_port, validate_host

from agentweb.http.probes import Examined, Level, Probe, Problem

TAG: Final = "agentweb"
_HAVE_PROBES: Final = frozenset(f"agentweb.W03{digit}" for digit in range(5))
"""Checks of the database and the keys: each has a probe of its own."""
_LOCAL_NAMES: Final = (".localhost", ".local", ".test")
_DEBUG_HOSTS: Final = [".localhost", "127.0.0.1", "[::1]"]


def errors_of_checks(site: Examined) -> Iterable[Problem]:
    return _repeated(at_least=checks.ERROR, below=1_000)


def warnings_of_checks(site: Examined) -> Iterable[Problem]:
    return _repeated(at_least=checks.WARNING, below=checks.ERROR)


def debug_in_public(site: Examined) -> Iterable[Problem]:
    if settings.DEBUG and not _is_local(site.place.origin):
        yield Problem(
            f"DEBUG is on for {site.place.origin}, which is no address of this machine.",
            "Set DEBUG = False where others can call: error pages of the site show its insides.",
        )


def origin_not_allowed(site: Examined) -> Iterable[Problem]:
    host, _port = split_domain_port(urlsplit(site.place.origin).netloc)
    allowed = settings.ALLOWED_HOSTS or (_DEBUG_HOSTS if settings.DEBUG else [])
    if not validate_host(host, allowed):
        yield Problem(
            f"ALLOWED_HOSTS does not have {host}, the host of AGENTWEB['ORIGIN']: Django refuses every call.",
            f"Add {host!r} to ALLOWED_HOSTS, or correct the origin.",
        )


def origin_without_tls(site: Examined) -> Iterable[Problem]:
    origin = site.place.origin
    if origin.startswith("http:") and not _is_local(origin):
        yield Problem(
            f"The origin {origin} is not https: whoever is between can read every call and answer.",
            "Serve the site over TLS and write https:// in AGENTWEB['ORIGIN'].",
        )


def _repeated(*, at_least: int, below: int) -> list[Problem]:
    return [
        Problem(
            f"{message.id}: {f'{message.obj}: ' if message.obj else ''}{message.msg}",
            " ".join((message.hint or "See docs/reference/checks.md.").split()),
        )
        # No database is named: what asks one has a probe of its own, which waits until the database answers.
        for message in checks.run_checks(tags=[TAG], databases=[])
        if at_least <= message.level < below and message.id not in _HAVE_PROBES and not message.is_silenced()
    ]


def _is_local(origin: str) -> bool:
    host = urlsplit(origin).hostname or ""
    try:
        return ipaddress.ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith(_LOCAL_NAMES)


PROBES: Final = (
    Probe("D010", Level.ERROR, "The system checks of agentweb find no error.", errors_of_checks),
    Probe("D011", Level.WARNING, "The system checks of agentweb warn of nothing.", warnings_of_checks),
    Probe("D012", Level.WARNING, "DEBUG is off, or on for this machine only.", debug_in_public),
    Probe("D013", Level.ERROR, "The host of the origin is among ALLOWED_HOSTS.", origin_not_allowed),
    Probe("D014", Level.WARNING, "The origin is https, or local.", origin_without_tls),
)
