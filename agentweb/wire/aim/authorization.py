"""``Authorization: AIM key="…", ts="…", nonce="…", sig="…"``: a request signed by an agent.

The Ed25519 signature is over these lines, joined by line feeds, without one at the end::

    AIM2-HTTP
    POST                      the method, upper case
    /v2/messages              the request target exactly as sent, query included
    aim.example               the authority: lower-case host, ":port" unless it is the scheme's
    <64 lower-case hex>       SHA-256 of the body's bytes, of none when there is no body
    1767225600                ts, Unix seconds
    AAECAwQFBgcICQoLDA0ODw    nonce

The header's form is that of RFC 9110 section 11.4. Each parameter stands there exactly once, in any order.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import Final

from agentweb.wire.aim import keys
from agentweb.wire.encoding import b64url, b64url_decode, new_nonce
from agentweb.wire.errors import AuthenticationError, Code
from agentweb.wire.signing import SigningKey

SCHEME: Final = "AIM"
LABEL: Final = "AIM2-HTTP"
MAX_SKEW_SECONDS: Final = 300
"""How far ``ts`` may be from the service's clock, either way."""
NONCE_SECONDS: Final = 2 * MAX_SKEW_SECONDS + 60
"""How long after ``ts`` a nonce is remembered: longer than any request with it could be accepted."""
MAX_HEADER: Final = 1_024
EMPTY_BODY: Final = hashlib.sha256(b"").hexdigest()

_PARAMETERS: Final = ("key", "ts", "nonce", "sig")
_CREDENTIALS: Final = re.compile(rf"{SCHEME} +(.+)", re.IGNORECASE)
_PARAMETER: Final = re.compile(r"""([A-Za-z]{1,16})=("?)([A-Za-z0-9_-]{1,128})\2""")
_COMMA: Final = re.compile(r"[ \t]*,[ \t]*")
_TS: Final = re.compile(r"0|[1-9][0-9]{0,11}")
_NONCE: Final = re.compile(r"[A-Za-z0-9_-]{22,64}")
_HEX: Final = re.compile(r"[0-9a-f]{64}")
_METHOD: Final = re.compile(r"[A-Z]{1,16}")
_TARGET: Final = re.compile(r"/[!-~]*")
_AUTHORITY: Final = re.compile(r"[a-z0-9._:\[\]-]+")


@dataclass(frozen=True, slots=True)
class Credentials:
    """A header that is well formed and not verified. ``key`` is 43 base64url characters, perhaps no point of the
    curve; ``ts`` Unix seconds; ``sig`` the 64 bytes."""

    key: str
    ts: int
    nonce: str
    sig: bytes


def body_digest(body: bytes) -> str:
    """The digest that is signed: 64 lower-case hex characters."""
    return hashlib.sha256(body).hexdigest()


def signing_string(method: str, target: str, authority: str, body_sha256: str, ts: int, nonce: str) -> bytes:
    """The bytes that are signed. Raises ValueError for a part that could be mistaken for two lines, or that no
    request has: the method in lower case, a target that is not visible ASCII from its slash on."""
    parts = (
        (_METHOD, method, "The method is upper-case letters."),
        (_TARGET, target, "The request target begins with a slash and is visible ASCII."),
        (
            _AUTHORITY,
            authority,
            "The authority is a lower-case host, with a port where it is not the default.",
        ),
        (_HEX, body_sha256, "The body's digest is 64 lower-case hex characters."),
        (_TS, str(ts), "ts is Unix seconds."),
        (_NONCE, nonce, "A nonce is 22 to 64 base64url characters."),
    )
    for pattern, part, wrong in parts:
        if not pattern.fullmatch(part):
            raise ValueError(wrong)
    return "\n".join((LABEL, *(part for _pattern, part, _wrong in parts))).encode("ascii")


def parse_header(text: str) -> Credentials:
    """The credentials in the value of ``Authorization``. Raises ``malformed_authorization`` (401).

    Two headers reach us joined by a comma and are refused, as are unknown and repeated parameters, padding,
    backslashes, and a key or signature in a second spelling.
    """
    if len(text) > MAX_HEADER:
        raise _malformed(f"The header has more than {MAX_HEADER} characters.")
    match = _CREDENTIALS.fullmatch(text.strip(" \t"))
    if match is None:
        raise _malformed("The scheme is AIM, followed by a space and the parameters.")
    given: dict[str, str] = {}
    for part in _COMMA.split(match[1]):
        parameter = _PARAMETER.fullmatch(part)
        if parameter is None:
            raise _malformed('A parameter is name="value", of letters, digits, hyphens and underscores.')
        name = parameter[1].lower()
        if name not in _PARAMETERS:
            raise _malformed(f"There is no parameter {name}.")
        if name in given:
            raise _malformed(f"The parameter {name} occurs twice.")
        given[name] = parameter[3]
    missing = [name for name in _PARAMETERS if name not in given]
    if missing:
        raise _malformed(f"Missing: {', '.join(missing)}.")
    if not _TS.fullmatch(given["ts"]):
        raise _malformed("ts is Unix seconds: digits, without leading zeros.")
    if not _NONCE.fullmatch(given["nonce"]):
        raise _malformed("A nonce is 22 to 64 base64url characters, at least 128 random bits.")
    try:
        b64url_decode(given["key"], length=32)
        sig = b64url_decode(given["sig"], length=64)
    except ValueError:
        raise _malformed("key is 43, sig 86 characters of canonical base64url without padding.") from None
    return Credentials(given["key"], int(given["ts"]), given["nonce"], sig)


def write_header(credentials: Credentials) -> str:
    """The value of ``Authorization`` for these credentials."""
    return (
        f'{SCHEME} key="{credentials.key}", ts="{credentials.ts}", nonce="{credentials.nonce}", '
        f'sig="{b64url(credentials.sig)}"'
    )


def sign_request(
    key: SigningKey,
    method: str,
    target: str,
    authority: str,
    body: bytes = b"",
    *,
    ts: int,
    nonce: str | None = None,
) -> str:
    """The value of ``Authorization`` for one attempt. Every attempt needs its own: ``nonce`` is for tests.

    Raises ValueError as ``signing_string``.
    """
    nonce = nonce or new_nonce()
    signed = signing_string(method, target, authority, body_digest(body), ts, nonce)
    return write_header(Credentials(keys.public_of(key), ts, nonce, key.sign(signed)))


def verify(credentials: Credentials, method: str, target: str, authority: str, body_sha256: str) -> bool:
    """Did the key sign this request, with the credentials' own ``ts`` and ``nonce``? Never raises."""
    try:
        signed = signing_string(method, target, authority, body_sha256, credentials.ts, credentials.nonce)
    except ValueError:
        return False
    return keys.verify(credentials.key, signed, credentials.sig)


def _malformed(message: str) -> AuthenticationError:
    return AuthenticationError(
        Code.MALFORMED_AUTHORIZATION,
        f'{message} Send Authorization: AIM key="…", ts="…", nonce="…", sig="…".',
    )
