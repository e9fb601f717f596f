"""What helps the site beside its database: the cache that throttles count in, and the broker of its tasks."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.cache import DEFAULT_CACHE_ALIAS

from agentweb.catalog.registry import registry
from agentweb.http.probes import Examined, Level, Probe, Problem

_LOCAL_CACHES: Final = ("LocMemCache", "DummyCache")
_REDIS: Final = ("redis", "rediss")
_PORTS: Final = {"redis": 6379, "rediss": 6379, "amqp": 5672, "amqps": 5671, "pyamqp": 5672}
_TIMEOUTS: Final = ("socket_connect_timeout", "socket_timeout")
_PATIENCE_SECONDS: Final = 1.0


def throttles_in_a_process(site: Examined) -> Iterable[Problem] | None:
    rest: Mapping[str, Any] = getattr(settings, "REST_FRAMEWORK", {}) or {}
    own = sorted(action.name for action in registry.actions() if _has_throttles(action.handler))
    if not rest.get("DEFAULT_THROTTLE_CLASSES") and not own:
        return None
    backend = str(settings.CACHES.get(DEFAULT_CACHE_ALIAS, {}).get("BACKEND", ""))
    if not backend.endswith(_LOCAL_CACHES):
        return []
    who = "REST_FRAMEWORK has" if rest.get("DEFAULT_THROTTLE_CLASSES") else f"The view of {own[0]!r} has"
    return [
        Problem(
            f"{who} throttles, and the cache that they count in is {backend.rpartition('.')[2]}: each "
            "process counts for itself.",
            "Use a cache that all processes share, such as Redis. The limits of agentweb are rows and need none.",
        )
    ]


def _has_throttles(handler: Any) -> bool:
    """Whether the handler is a published view with throttles of its own or the site's."""
    endpoint = getattr(handler, "endpoint", None)
    classes = getattr(getattr(endpoint, "cls", None), "throttle_classes", ())
    given = getattr(endpoint, "initkwargs", {}).get("throttle_classes", classes)
    return bool(given)


def broker_without_timeouts(site: Examined) -> Iterable[Problem] | None:
    url = _broker()
    if not url or urlsplit(url).scheme not in _REDIS:
        return None
    options: Mapping[str, Any] = getattr(settings, "CELERY_BROKER_TRANSPORT_OPTIONS", {}) or {}
    left_out = [name for name in _TIMEOUTS if not options.get(name)]
    if not left_out:
        return []
    return [
        Problem(
            f"CELERY_BROKER_TRANSPORT_OPTIONS has no {' and no '.join(left_out)}: a broker that accepts and does not "
            "answer holds a request up for minutes.",
            'Set {"socket_connect_timeout": 0.5, "socket_timeout": 1}.',
        )
    ]


def unreachable_broker(site: Examined) -> Iterable[Problem] | None:
    parts = urlsplit(_broker())
    if parts.scheme not in _PORTS:
        return None
    address = (parts.hostname or "127.0.0.1", parts.port or _PORTS[parts.scheme])
    try:
        socket.create_connection(address, timeout=_PATIENCE_SECONDS).close()
    except OSError as error:
        return [
            Problem(
                f"The broker at {address[0]}:{address[1]} cannot be reached: {error}",
                "Start it, or correct CELERY_BROKER_URL.",
            )
        ]
    return []


def eager_tasks(site: Examined) -> Iterable[Problem]:
    if getattr(settings, "CELERY_TASK_ALWAYS_EAGER", False):
        yield Problem(
            "CELERY_TASK_ALWAYS_EAGER is on: tasks run inside the request, and their errors are swallowed.",
            "Leave it to tests; set it to False here.",
        )


def _broker() -> str:
    return str(getattr(settings, "CELERY_BROKER_URL", "") or "")


PROBES: Final = (
    Probe(
        "D040",
        Level.WARNING,
        "Throttles count in a shared cache.",
        throttles_in_a_process,
        is_for_production=True,
    ),
    Probe(
        "D041", Level.WARNING, "The broker has time-outs.", broker_without_timeouts, is_for_production=True
    ),
    Probe("D042", Level.WARNING, "The broker can be reached.", unreachable_broker),
    Probe("D043", Level.WARNING, "Tasks do not run inside requests.", eager_tasks, is_for_production=True),
)
