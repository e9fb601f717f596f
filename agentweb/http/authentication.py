"""Who is calling: a signature under a grant or with a bare key, a session's token, else nobody known.

Cookies never say it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Final

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from agentweb.access import callers, failures, limits, sessions, signatures
from agentweb.access.callers import Caller
from agentweb.http.addresses import address_of, is_one_client
from agentweb.http.target import Target
from agentweb.wire.errors import Code, RequestError

_SIGNED_HEADERS: Final = {
    "agent-grant": "HTTP_AGENT_GRANT",
    "agent-key": "HTTP_AGENT_KEY",
    "content-digest": "HTTP_CONTENT_DIGEST",
    "content-type": "CONTENT_TYPE",
    "idempotency-key": "HTTP_IDEMPOTENCY_KEY",
    "signature": "HTTP_SIGNATURE",
    "signature-input": "HTTP_SIGNATURE_INPUT",
}


def identify(
    request: HttpRequest,
    *,
    target: Target,
    site: str,
    has_body: bool,
    read_body: Callable[[], bytes],
    limit_anonymous: bool,
) -> Caller:
    """The caller of a request. The body is read only after the signature's shape and time were found good.

    ``limit_anonymous``: whether an unsigned request counts against its address; public documents do not.
    Raises what ``signatures``, ``sessions`` and ``limits`` raise, and invalid_parameter for a request with both: a
    bad signature or token is never taken for none.
    """
    sent = _headers(request, has_body=has_body)
    address = address_of(request)
    # Whoever shares an address with others must not be able to close it for them.
    token = bearer_token(request)
    counting = (
        failures.counted(address, has_grant=token is not None or "agent-grant" in sent)
        if (limit_anonymous or token is not None or signatures.is_tried(sent)) and is_one_client(request)
        else nullcontext()
    )
    if token is not None:
        if signatures.is_tried(sent):
            raise RequestError(
                Code.INVALID_PARAMETER,
                "Say who you are in one way: sign the request, or send a session's token as Authorization.",
                field="Authorization",
            )
        with counting:
            return sessions.authenticate(token, site, address)
    if signatures.is_tried(sent):
        with counting:
            pending = signatures.begin(
                method=request.method or "",
                authority=site,
                path=target.path,
                query=f"?{target.query}",
                headers=sent,
            )
            if pending is not None:
                return pending.finish(read_body(), address=address)
    allowance = limits.admit_anonymous(address) if limit_anonymous else None
    return callers.anonymous(address, allowance)


def act_as(request: HttpRequest, caller: Caller) -> None:
    """Let ``request.user`` be the person whom the caller acts for, never the owner of a cookie.

    A handler gets this request and may look there out of habit.
    """
    user = SimpleLazyObject(lambda: caller.user)

    async def auser() -> object:
        return user

    request.user = user  # type: ignore[assignment]
    request.auser = auser  # type: ignore[assignment]


def bearer_token(request: HttpRequest) -> str | None:
    """The token of ``Authorization: Bearer …`` (RFC 6750 2.1), "" for none after the word; None for another scheme.

    Basic authentication may stand before a site that is not public yet; it says nothing about an agent.
    """
    scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def _headers(request: HttpRequest, *, has_body: bool) -> dict[str, str]:
    meta = request.META
    found = {name: str(meta[key]) for name, key in _SIGNED_HEADERS.items() if key in meta}
    if not has_body and '"content-type"' not in found.get("signature-input", ""):
        # Servers write an absent Content-Type as an empty one; wsgiref, and so runserver, as "text/plain".
        found.pop("content-type", None)
    return found
