"""The request that a view gets for an agent's call: a fresh one, as if the person had sent it over HTTP.

It takes from the agent's request where it came from (the host that it asked only where the site does not name
itself), never its body, its cookies or its ``Authorization``: those speak of the agent. The person for whom the agent
acts is the user, set the way DRF's ``force_authenticate`` does it, so no authenticator of the site is asked and CSRF
does not arise.
"""

from __future__ import annotations

from importlib import import_module
from io import BytesIO
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.core.handlers.wsgi import WSGIRequest
from django.urls import ResolverMatch, get_script_prefix
from django.utils.crypto import salted_hmac

from agentweb import conf
from agentweb.wire.json_writing import dumps
from agentweb.wire.strict_json import Json

_FROM_THE_AGENT: Final = (
    "REMOTE_ADDR",
    "REMOTE_HOST",
    "HTTP_USER_AGENT",
    "HTTP_ACCEPT_LANGUAGE",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_REAL_IP",
)
"""What says where a request came from."""

_HOST_OF_THE_AGENT: Final = (
    "SERVER_NAME",
    "SERVER_PORT",
    "HTTP_HOST",
    "HTTP_X_FORWARDED_HOST",
    "HTTP_X_FORWARDED_PORT",
    "HTTP_X_FORWARDED_PROTO",
)
"""By which name the site was called; it counts where AGENTWEB["ORIGIN"] does not say the name."""

_ACCEPT: Final = "application/json, */*"
"""JSON; else what the view has, which is an answer if it is JSON under another name."""


def person_of(ctx: Any) -> Any:
    """The user that the view sees: the person for whom the agent acts, if it may still log in, else nobody."""
    return ctx.user if getattr(ctx.user, "is_active", True) else AnonymousUser()


def fresh_request(
    ctx: Any,
    user: Any,
    *,
    method: str,
    path: str,
    query: str,
    body: Json,
    has_body: bool,
    match: ResolverMatch | None,
) -> WSGIRequest:
    """A request of ``method`` (upper-case) to ``path``, without a script prefix; ``ctx`` becomes ``request.agent``.

    ``user`` is who sent it, see ``person_of``.
    """
    content = dumps(body) if has_body else b""
    environ = {
        **_origin(ctx),
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": get_script_prefix().rstrip("/"),
        # PEP 3333: the bytes of the path as Latin-1.
        "PATH_INFO": path.encode().decode("latin-1"),
        "QUERY_STRING": query,
        "SERVER_PROTOCOL": "HTTP/1.1",
        "HTTP_ACCEPT": _ACCEPT,
        "CONTENT_LENGTH": str(len(content)) if has_body else "",
        "CONTENT_TYPE": "application/json" if has_body else "",
        "wsgi.version": (1, 0),
        "wsgi.input": BytesIO(content),
        "wsgi.errors": BytesIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    if user.is_authenticated:
        # A cache in front of the view tells people apart by these headers (Vary), and must tell them apart here too.
        # Nobody can guess the value, or a visitor who sends it would be served what was kept for another.
        mark = salted_hmac("agentweb.views", str(user.pk), algorithm="sha256").hexdigest()
        environ["HTTP_COOKIE"] = f"agent-of={mark}"
        environ["HTTP_AUTHORIZATION"] = f"Agent-Of {mark}"
    request: Any = WSGIRequest(environ)
    request.COOKIES = {}
    request.resolver_match = match
    request.agent = ctx
    request._force_auth_user = user
    request._dont_enforce_csrf_checks = True
    request.user = user
    request.auser = _answering(user)
    if "django.contrib.sessions" in settings.INSTALLED_APPS:
        request.session = import_module(settings.SESSION_ENGINE).SessionStore()
    return request  # type: ignore[no-any-return]


def _origin(ctx: Any) -> dict[str, Any]:
    """Where the call came from, and the name of the site, of which the view makes its links.

    Without a request (a shell, a task) it came from the address that the caller is known by: never from this
    machine's own, which a permission of the site may trust.
    """
    if ctx.request is None:
        came = {"REMOTE_ADDR": ctx.caller.address} if ctx.caller.address else {}
    else:
        meta = ctx.request.META
        came = {name: meta[name] for name in _FROM_THE_AGENT if name in meta}
    configured = conf.get("ORIGIN")
    if ctx.request is not None and not configured:
        names = [*_HOST_OF_THE_AGENT, (settings.SECURE_PROXY_SSL_HEADER or ("",))[0]]
        return {
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            **came,
            **{name: meta[name] for name in names if name in meta},
            "wsgi.url_scheme": ctx.request.scheme,
        }
    named = [host for host in settings.ALLOWED_HOSTS if not host.startswith(("*", "."))]
    origin = urlsplit(configured or f"http://{named[0] if named else 'localhost'}")
    port = origin.port or (443 if origin.scheme == "https" else 80)
    return {
        **came,
        "SERVER_NAME": origin.hostname or "localhost",
        "SERVER_PORT": str(port),
        "HTTP_HOST": origin.netloc,
        "wsgi.url_scheme": origin.scheme,
    }


def _answering(user: Any) -> Any:
    async def auser() -> Any:
        return user

    return auser
