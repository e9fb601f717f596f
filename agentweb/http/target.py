"""Where a request was sent, as it was on the wire: origin, raw path, raw query.

A signature speaks about the path before anything decoded it, so the raw target is taken where the server hands
it over: ``raw_path`` of the ASGI scope, ``RAW_URI`` (gunicorn) or ``REQUEST_URI`` (uWSGI, mod_wsgi) of the WSGI
environment. granian's WSGI and runserver give neither; the path is then rebuilt from its decoded form, which is
the same for every path that has no needless or unusual percent-encoding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote_to_bytes, urlsplit

from django.conf import settings
from django.http import HttpRequest

from agentweb import conf
from agentweb.wire.errors import Code, ServerError

# RFC 3986 3.3: what a path may hold without encoding. "~" and the other unreserved ones are quote()'s own.
_PATH_SAFE: Final = "/:@!$&'()*+,;="
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True)
class Target:
    """``path`` begins with ``/`` and holds the prefix of a site that is mounted under one; ``query`` is without
    its ``?``."""

    path: str
    query: str


def origin_of(request: HttpRequest) -> str:
    """Scheme and host of this site, ``https://shop.example``: the setting's; the request's under DEBUG only.

    Raises ServerError when neither may be used: a Host header must not choose an audience.
    """
    configured = conf.get("ORIGIN")
    if configured:
        return str(configured).rstrip("/")
    if settings.DEBUG:
        return f"{request.scheme}://{request.get_host()}"
    raise ServerError(
        Code.INTERNAL,
        "The site is not set up for agents yet. Report the request id to the site.",
        debug="AGENTWEB['ORIGIN'] is not set; set it to the site's scheme and host, 'https://shop.example'.",
    )


@lru_cache(maxsize=64)
def site_of(origin: str) -> str:
    """The authority ``host[:port]`` of an origin: lower case, without the scheme's default port."""
    parts = urlsplit(origin)
    host = parts.hostname or ""
    if ":" in host:
        host = f"[{host}]"
    if parts.port is None or parts.port == _DEFAULT_PORTS.get(parts.scheme):
        return host
    return f"{host}:{parts.port}"


def target_of(request: HttpRequest) -> Target:
    """The request's target in its wire form, or the nearest that the server lets us know."""
    scope = getattr(request, "scope", None)
    if scope is not None:
        raw = scope.get("raw_path")
        if raw:
            path = _with_prefix(raw.decode("latin-1").partition("?")[0], request)
        else:
            path = _with_prefix(quote(request.path, safe=_PATH_SAFE), request)
        query = scope.get("query_string", b"")
        # Django's AsyncClient makes it a text.
        return Target(path or "/", query if isinstance(query, str) else query.decode("latin-1"))
    meta = request.META
    raw_uri = meta.get("RAW_URI") or meta.get("REQUEST_URI")
    if not raw_uri:
        return Target(quote(request.path, safe=_PATH_SAFE) or "/", meta.get("QUERY_STRING", ""))
    path, _, query = _without_origin(raw_uri).partition("?")
    return Target(_with_prefix(path, request) or "/", query)


def _without_origin(uri: str) -> str:
    """RFC 9112 3.2.2: a client may send the target in absolute form, ``GET http://host/path``."""
    if uri.startswith("/"):
        return uri
    scheme, separator, rest = uri.partition("://")
    if not separator or scheme.lower() not in _DEFAULT_PORTS:
        return uri
    path_at = min((at for at in (rest.find("/"), rest.find("?")) if at >= 0), default=len(rest))
    return rest[path_at:]


def _with_prefix(path: str, request: HttpRequest) -> str:
    """The path as the client sent it, when a proxy took the site's prefix off before the server saw it.

    The server's own view decides: the prefix is missing when the raw path alone is already PATH_INFO. A raw
    path that the server hands over with the prefix is longer than that and stays as it is.
    """
    prefix = request.META.get("SCRIPT_NAME", "").rstrip("/")
    if prefix and unquote_to_bytes(path) == request.path_info.encode():
        return quote(prefix, safe=_PATH_SAFE) + path
    return path
