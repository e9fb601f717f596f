"""Signed requests: the strict profile of RFC 9421 (HTTP Message Signatures) that agent-actions uses.

One signature, labelled ``agent``, with its parameters in one order and its covered components in one order::

    "@method" "@authority" "@path" "@query"           always
    "content-digest" "content-type"                   each when present; both with a body
    "agent-grant" or "agent-key"                      exactly one of them
    "idempotency-key"                                 when present

Whatever is spelled otherwise is refused, so no general structured-field parser is needed.
"""

from __future__ import annotations

import hashlib
import ipaddress
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from agentweb.wire.encoding import new_nonce
from agentweb.wire.errors import AuthenticationError, Code
from agentweb.wire.signing import SigningKey, thumbprint, verify

LABEL: Final = "agent"
TAG: Final = "agent-actions"
MAX_WINDOW: Final = 300
"""Longest time in seconds between ``created`` and ``expires``."""
MAX_SKEW: Final = 60
"""Seconds that ``created`` may lie ahead of the verifier's clock."""

_DERIVED: Final = ("@method", "@authority", "@path", "@query")
_HEADERS: Final = ("content-digest", "content-type", "agent-grant", "agent-key", "idempotency-key")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

# Visible ASCII, spaces only inside: what a line of the signature base can hold without ambiguity.
_VALUE: Final = re.compile(r"[!-~](?:[ -~]*[!-~])?")
_METHOD: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_PATH: Final = re.compile(r"/[!-~]*")
_QUERY: Final = re.compile(r"\?[!-~]*")
_AUTHORITY: Final = re.compile(r"(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
_SIGNATURE: Final = re.compile(rf"{LABEL}=:([A-Za-z0-9+/]{{86}}==):")
_INPUT: Final = re.compile(
    rf'{LABEL}=(\(("[@a-z-]+"(?: "[@a-z-]+")*)\)'
    r";created=(0|[1-9][0-9]{0,11})"
    r";expires=(0|[1-9][0-9]{0,11})"
    r';nonce="([A-Za-z0-9_-]{22,64})"'
    r';alg="ed25519"'
    r';keyid="([A-Za-z0-9_-]{43})"'
    rf';tag="{TAG}")'
)
# Two fields of one name reach us joined by a comma, which none of these values has.
_WITHOUT_COMMA: Final = ("content-digest", "content-type", "agent-grant", "agent-key")


@dataclass(frozen=True, slots=True)
class SignedRequest:
    """What a signature speaks about, exactly as it was on the wire.

    ``method`` as sent; ``authority`` the site's own, lower case, without a default port; ``path`` with its
    percent-encoding; ``query`` ``"?…"``, or ``"?"`` when there is none. ``headers`` has lower-case names and
    leaves absent headers out. Only those of the profile, ``signature-input`` and ``signature`` are read.
    """

    method: str
    authority: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class ParsedSignature:
    """A well-formed signature, not yet verified. ``created`` and ``expires`` are Unix seconds."""

    components: tuple[str, ...]
    created: int
    expires: int
    nonce: str
    keyid: str
    signature: bytes
    params: str


def authority_of(url: str) -> str:
    """The ``host[:port]`` of an absolute http(s) URL: lower case, default port dropped, IPv6 in brackets.

    Raises ValueError for other schemes, user names, hosts that are not ASCII (write them in their ``xn--``
    form) and ports that do not exist.
    """
    parts = _split(url)
    host = parts.hostname or ""
    if "[" in parts.netloc:
        # Only checked: interpreters differ in how they shorten an address.
        ipaddress.IPv6Address(host)
        host = f"[{host}]"
    port = parts.port
    authority = host if port is None or port == _DEFAULT_PORTS[parts.scheme] else f"{host}:{port}"
    if not _AUTHORITY.fullmatch(authority):
        raise ValueError("The URL's host has characters that no host name has.")
    return authority


def target_of(url: str) -> tuple[str, str]:
    """``(path, query)`` of a URL as RFC 9421 2.2.6 and 2.2.7 want them: ``"/"`` and ``"?"`` when empty.

    Nothing is decoded or normalised; a fragment is dropped, as it is never sent. Raises ValueError for a URL
    that is not absolute http(s) in visible ASCII.
    """
    parts = _split(url)
    return parts.path or "/", "?" + parts.query


def _split(url: str) -> SplitResult:
    # urlsplit() silently drops tabs and line feeds; what is signed must be what is sent.
    if not re.fullmatch(r"[!-~]+", url):
        raise ValueError("A URL is visible ASCII; percent-encode everything else.")
    parts = urlsplit(url)
    if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or "@" in parts.netloc:
        raise ValueError("A URL here is http:// or https://, a host without user name, and the rest.")
    return parts


def content_digest(body: bytes) -> str:
    """The value of ``Content-Digest`` (RFC 9530) for a body: ``sha-256=:<base64>:``."""
    return f"sha-256=:{b64encode(hashlib.sha256(body).digest()).decode('ascii')}:"


def sign_request(
    *,
    method: str,
    url: str,
    body: bytes,
    key: SigningKey,
    headers: Mapping[str, str],
    created: int,
    lifetime: int = 60,
    nonce: str | None = None,
) -> dict[str, str]:
    """The headers to add: ``Content-Digest`` (with a body), ``Signature-Input`` and ``Signature``.

    ``headers`` are those the request will have already, names in any case: ``Agent-Grant`` or ``Agent-Key``,
    ``Content-Type`` with a body, ``Idempotency-Key`` where wanted. ``created`` and ``lifetime`` are seconds.
    Raises ValueError for a request that the profile cannot sign.
    """
    if not 0 < lifetime <= MAX_WINDOW:
        raise ValueError(f"A signature lives 1 to {MAX_WINDOW} seconds.")
    added: dict[str, str] = {}
    present = {name.lower(): value for name, value in headers.items()}
    if body:
        present["content-digest"] = added["Content-Digest"] = content_digest(body)
    path, query = target_of(url)
    request = SignedRequest(method, authority_of(url), path, query, present, body)
    try:
        components = _expected_components(request)
        params = (
            f"({' '.join(f'{chr(34)}{name}{chr(34)}' for name in components)})"
            f';created={created};expires={created + lifetime};nonce="{nonce or new_nonce()}"'
            f';alg="ed25519";keyid="{key.thumbprint}";tag="{TAG}"'
        )
        if not _INPUT.fullmatch(f"{LABEL}={params}"):
            raise ValueError("The signature's parameters are out of their ranges.")
        signature = key.sign(_signature_base(request, components, params))
    except AuthenticationError as error:
        raise ValueError(error.message) from None
    added["Signature-Input"] = f"{LABEL}={params}"
    added["Signature"] = f"{LABEL}=:{b64encode(signature).decode('ascii')}:"
    return added


def parse_signature(request: SignedRequest) -> ParsedSignature:
    """The request's signature, well-formed and covering exactly what it must; nothing is verified yet.

    Raises ``signature_invalid`` with reason ``malformed`` or ``coverage``.
    """
    given_input = _header(request, "signature-input")
    given_signature = _header(request, "signature")
    match = _INPUT.fullmatch(given_input)
    if not match:
        raise _invalid(
            "malformed",
            f'Signature-Input must be one signature {LABEL}=("@method" …);created;expires;nonce;'
            f'alg="ed25519";keyid;tag="{TAG}", in this order and without spaces between parameters.',
        )
    params, listed, created, expires, nonce, keyid = match.groups()
    expected = _expected_components(request)
    components = tuple(listed[1:-1].split('" "'))
    if components != expected:
        raise _invalid("coverage", f"The signature must cover exactly, in this order: {' '.join(expected)}.")
    for name in _WITHOUT_COMMA:
        if "," in request.headers.get(name, ""):
            raise _invalid("malformed", f"Send the header {name} once, without a comma.")
    _signature_base(request, components, params)
    return ParsedSignature(
        components=components,
        created=int(created),
        expires=int(expires),
        nonce=nonce,
        keyid=keyid,
        signature=_decode_signature(given_signature),
        params=params,
    )


def check_freshness(
    parsed: ParsedSignature, now: float, *, max_window: int = MAX_WINDOW, skew: int = MAX_SKEW
) -> None:
    """Raise ``signature_expired`` unless the signature is valid at ``now`` (Unix seconds).

    ``reason`` is ``window`` when it lives longer than ``max_window`` or ends before it begins, ``future``
    when it begins more than ``skew`` seconds from now, and absent when it is simply over.
    """
    window = parsed.expires - parsed.created
    if not 0 < window <= max_window:
        raise _expired(now, f"Let expires be 1 to {max_window} seconds after created.", reason="window")
    if parsed.created > now + skew:
        raise _expired(now, "The signature was created in the future; set your clock.", reason="future")
    if now > parsed.expires:
        raise _expired(now, "The signature is over; sign the request again with a new nonce.")


def verify_request(request: SignedRequest, parsed: ParsedSignature, public_key: str) -> None:
    """Return when ``public_key`` (``"ed25519:…"``) signed exactly this request.

    Raises ``signature_invalid`` with reason ``digest`` (the body is another), ``key`` (``keyid`` is not the
    key's thumbprint) or ``signature``.
    """
    claimed = request.headers.get("content-digest")
    if claimed is not None and claimed != content_digest(request.body):
        raise _invalid("digest", "Content-Digest is not sha-256=:…: of the body that arrived.")
    try:
        expected_keyid = thumbprint(public_key)
    except ValueError:
        raise _invalid("key", "The agent's public key is not a valid Ed25519 key.") from None
    if parsed.keyid != expected_keyid:
        raise _invalid("key", "keyid is not the RFC 7638 thumbprint of the agent's key.")
    # Checked again, so that a parsed signature of one request proves nothing about another.
    if parsed.components != _expected_components(request):
        raise _invalid("coverage", "The signature does not cover what the request has.")
    base = _signature_base(request, parsed.components, parsed.params)
    if not verify(public_key, base, parsed.signature):
        raise _invalid(
            "signature",
            "The signature does not fit the method, authority, path, query, body and headers sent.",
        )


def _expected_components(request: SignedRequest) -> tuple[str, ...]:
    headers = request.headers
    present = tuple(name for name in _HEADERS if name in headers)
    if request.body and not {"content-digest", "content-type"} <= headers.keys():
        raise _invalid("coverage", "A request with a body has Content-Digest and Content-Type.")
    if ("agent-grant" in headers) == ("agent-key" in headers):
        raise _invalid("coverage", "Send either Agent-Grant or, without a grant, Agent-Key.")
    return _DERIVED + present


def _signature_base(request: SignedRequest, components: tuple[str, ...], params: str) -> bytes:
    """RFC 9421 2.5. Every value is checked, so that none can forge another line."""
    values = {
        "@method": (_METHOD, request.method),
        "@authority": (_AUTHORITY, request.authority),
        "@path": (_PATH, request.path),
        "@query": (_QUERY, request.query),
    }
    lines = []
    for name in components:
        pattern, value = values[name] if name in values else (_VALUE, request.headers[name])
        if not pattern.fullmatch(value):
            raise _invalid("malformed", f"{name} has characters that cannot be signed; send visible ASCII.")
        lines.append(f'"{name}": {value}\n')
    lines.append(f'"@signature-params": {params}')
    return "".join(lines).encode("ascii")


def _header(request: SignedRequest, name: str) -> str:
    value = request.headers.get(name)
    if value is None:
        raise _invalid("malformed", f"The header {name} is missing.")
    return value


def _decode_signature(value: str) -> bytes:
    match = _SIGNATURE.fullmatch(value)
    if match:
        signature = b64decode(match[1])
        # Like base64url: one signature, one spelling.
        if b64encode(signature).decode("ascii") == match[1]:
            return signature
    raise _invalid("malformed", f"Signature must be {LABEL}=:<base64 of 64 bytes>: and nothing else.")


def _invalid(reason: str, message: str) -> AuthenticationError:
    return AuthenticationError(Code.SIGNATURE_INVALID, message, reason=reason)


def _expired(now: float, message: str, *, reason: str | None = None) -> AuthenticationError:
    extra: dict[str, Any] = {"reason": reason} if reason else {}
    return AuthenticationError(Code.SIGNATURE_EXPIRED, message, server_time=int(now), **extra)
