"""The request that a serializer finds in its context: DRF's, with the person for whom the agent acts as its user."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject
from rest_framework.request import Request

from agentweb import conf
from agentweb.wire.strict_json import Json


def context_of(ctx: Any, data: Json = None) -> dict[str, Any]:
    """What a view of DRF would give its serializer: ``request`` and ``view`` (None); and ``ctx``.

    ``request.data`` is the input. A call from a shell or a task has no request, so it gets one with nothing but its
    user and the site's address, for which the site is asked when somebody looks.
    """
    if ctx is None:
        return {"request": None, "view": None, "ctx": None}
    user: Any = SimpleLazyObject(lambda: ctx.user)
    request = Request(ctx.request if ctx.request is not None else _from_nowhere())
    request.user = user
    request.auth = None
    # As its parser would: the bytes themselves have been read already.
    request._data = request._full_data = data  # type: ignore[attr-defined]
    request._files = {}  # type: ignore[attr-defined]
    return {"request": request, "view": None, "ctx": ctx}


def _from_nowhere() -> HttpRequest:
    request = HttpRequest()
    scheme, _, host = (conf.get("ORIGIN") or "http://localhost").partition("://")
    name, _, port = host.partition(":")
    request.META.update(
        {
            "HTTP_HOST": host,
            "SERVER_NAME": name,
            "SERVER_PORT": port or ("443" if scheme == "https" else "80"),
        }
    )
    request.method = "POST"
    request._get_scheme = lambda: scheme  # type: ignore[attr-defined]
    return request
