"""Messages as they are signed: ``{"id", "from", "to", "type", "ts", "body", "reply_to"?, "thread_id"?, "sig"}``.

``sig`` is the author's Ed25519 signature of the 32 bytes of the SHA-256 of the RFC 8785 text of everything else. What
is kept and passed on is the RFC 8785 text with ``sig``: equal documents (``1.0`` and ``1``) are one.

Only shape and signature are decided here. Whether the author is who sends it, whether ``ts`` is within the window and
the recipient exists, is for the service to say.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeVar, cast

from agentweb.wire import clock
from agentweb.wire.aim import keys
from agentweb.wire.aim.addresses import Address, Board, parse_address, parse_recipient
from agentweb.wire.canonical import CanonicalError, canonicalize
from agentweb.wire.encoding import b64url, b64url_decode, random_id
from agentweb.wire.errors import Code, InputError, RequestError
from agentweb.wire.json_types import Json
from agentweb.wire.signing import SigningKey
from agentweb.wire.strict_json import loads

ENVELOPE_BYTES: Final = 65_536
"""Of the canonical text with ``sig``."""
NESTING_MAX: Final = 32
"""Levels of an envelope, its own braces counted."""
REQUEST_BYTES: Final = 1_400_000
REQUEST_DEPTH: Final = 64
BATCH_MAX: Final = 20
TS_PAST_SECONDS: Final = 7 * 86_400
TS_FUTURE_SECONDS: Final = 300
MESSAGE: Final = "message"
SEALED: Final = "sealed"
SEALED_ALGORITHM: Final = "x25519-sealedbox-1"
SEALED_MIN_BYTES: Final = 48
"""A sealed box adds this much to what is inside."""

MEMBERS: Final = ("id", "from", "to", "type", "ts", "body", "reply_to", "thread_id", "sig")
_SERVICE_TYPES: Final = "aim."
_MAX_PROBLEMS: Final = 100
_SHOWN: Final = 64

_T = TypeVar("_T")

ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{15,63}")
_TYPE: Final = re.compile(r"[a-z][a-z0-9._-]{0,63}")
_TS: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-5][0-9])(?:\.([0-9]{1,3}))?Z"
)


@dataclass(frozen=True, slots=True)
class Envelope:
    """A well-formed envelope; its signature is not verified.

    ``text`` is the RFC 8785 text with ``sig`` and ``size`` its bytes in UTF-8. ``digest`` is what is signed, in 64
    lower-case hex characters: the same for every signature of the same content. ``sig`` is missing only from sealed
    messages. ``ts`` is the instant, in UTC, that ``ts_text`` spells.
    """

    id: str
    sender: Address
    to: Address | Board
    type: str
    ts: datetime
    ts_text: str
    body: Json
    reply_to: str | None
    thread_id: str | None
    sig: str | None
    text: str
    digest: str
    size: int


def parse_request(data: bytes) -> Json:
    """The JSON of a request's body, strictly read (``strict_json.loads``) and fit for signatures.

    Raises RequestError: ``too_large``, ``malformed_json``, ``duplicate_key``, ``number_out_of_range``,
    ``invalid_unicode``, ``too_deep``.
    """
    if len(data) > REQUEST_BYTES:
        raise RequestError(
            Code.TOO_LARGE,
            f"The request has {len(data)} bytes; at most {REQUEST_BYTES} are allowed. Send less at once.",
            limit=REQUEST_BYTES,
        )
    return loads(
        data,
        max_bytes=REQUEST_BYTES,
        max_depth=REQUEST_DEPTH,
        safe_integers=True,
        allow_nul=True,
        floats="float",
    )


def read(value: Json) -> Envelope:
    """The envelope in a value that ``parse_request`` read.

    Raises InputError with every problem ``{"pointer", "field", "code", "message"}``. Its own code is theirs when they
    have one, else ``invalid_envelope``: ``unknown_field``, ``invalid_address``, ``reserved_type``,
    ``sealed_not_allowed``. An envelope that nests too deep or is too long has just that problem, ``too_deep`` (400)
    or ``too_large`` (413).
    """
    if not isinstance(value, dict):
        raise _refused([_problem((), Code.INVALID_ENVELOPE, "An envelope is a JSON object.")])
    if _is_longer(value.get("body"), ENVELOPE_BYTES):
        # Without writing it: what is refused is to cost no more than what is taken.
        message = f"The envelope has more than {ENVELOPE_BYTES} bytes in its canonical form, which is all that it may."
        raise _refused([_problem((), Code.TOO_LARGE, message)])
    if _nests_deeper(value, NESTING_MAX):
        message = (
            f"The envelope nests deeper than {NESTING_MAX} levels, its own braces counted; flatten the body."
        )
        raise _refused([_problem((), Code.TOO_DEEP, message)])
    reader = _Reader(value)
    envelope = reader.envelope()
    if envelope is None:
        raise _refused(reader.problems)
    if envelope.size > ENVELOPE_BYTES:
        message = f"The envelope has {envelope.size} bytes in its canonical form; at most {ENVELOPE_BYTES} are allowed."
        raise _refused([_problem((), Code.TOO_LARGE, message)])
    return envelope


def signature_is_valid(envelope: Envelope, public: str) -> bool:
    """Is ``sig`` the signature of this key (43 base64url characters)? False when there is none."""
    if envelope.sig is None:
        return False
    return keys.verify(public, bytes.fromhex(envelope.digest), b64url_decode(envelope.sig))


def compose(
    sender: str,
    to: str,
    body: Json,
    *,
    type: str = MESSAGE,
    reply_to: str | None = None,
    thread_id: str | None = None,
    id: str | None = None,
    ts: str | None = None,
) -> dict[str, Json]:
    """The members of a new envelope, unsigned: with a new id (128 random bits) and the current time unless given.

    Nothing is checked here; ``sign`` does.
    """
    fields: dict[str, Json] = {
        "id": id if id is not None else new_id(),
        "from": sender,
        "to": to,
        "type": type,
        "ts": ts if ts is not None else write_ts(clock.now()),
        "body": body,
    }
    if reply_to is not None:
        fields["reply_to"] = reply_to
    if thread_id is not None:
        fields["thread_id"] = thread_id
    return fields


def sign(fields: Mapping[str, Json], key: SigningKey) -> dict[str, Json]:
    """The envelope with ``sig``, as its canonical text will be read by everybody: a Decimal is a double.

    Raises RequestError, as ``read`` does, for what no service would accept.
    """
    unsigned = {name: value for name, value in fields.items() if name != "sig"}
    try:
        data = canonicalize(unsigned)
    except CanonicalError as error:
        raise _refused([_problem(("body",), Code.INVALID_ENVELOPE, str(error))]) from None
    signed = cast("dict[str, Json]", parse_request(data))
    signed["sig"] = b64url(key.sign(hashlib.sha256(data).digest()))
    read(signed)
    return signed


def new_id() -> str:
    """A new id for a message: 23 characters with 128 random bits, a letter first."""
    return random_id("m")


def write_ts(seconds: float) -> str:
    """An instant (Unix seconds) as envelopes write it: ``YYYY-MM-DDTHH:MM:SS.mmmZ``."""
    instant = clock.from_unix(seconds)
    return f"{instant:%Y-%m-%dT%H:%M:%S}.{instant.microsecond // 1000:03d}Z"


def read_ts(text: str) -> datetime:
    """The instant, in UTC, of ``YYYY-MM-DDTHH:MM:SS[.s{1,3}]Z``. Raises ValueError; no second is 60."""
    match = _TS.fullmatch(text)
    if match is None:
        raise ValueError("ts is written YYYY-MM-DDTHH:MM:SS.mmmZ, in UTC.")
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    try:
        return datetime(
            year, month, day, hour, minute, second, int((match[7] or "0").ljust(6, "0")), tzinfo=UTC
        )
    except ValueError:
        raise ValueError("ts is no date and time that exists.") from None


class _Reader:
    """Reads one envelope, collecting what is wrong with it."""

    def __init__(self, value: dict[str, Json]) -> None:
        self.value = value
        self.problems: list[dict[str, Any]] = []

    def envelope(self) -> Envelope | None:
        value = self.value
        for name in value:
            if name not in MEMBERS:
                self.wrong((name,), "An envelope has no such member; put it into body.", Code.UNKNOWN_FIELD)
        identifier = self.text("id", _read_id)
        sender = self.text("from", parse_address, Code.INVALID_ADDRESS)
        to = self.text("to", parse_recipient, Code.INVALID_ADDRESS)
        kind = self.text("type", _read_type)
        ts = self.text("ts", read_ts)
        body = self.body()
        reply_to = self.text("reply_to", _read_id) if "reply_to" in value else None
        thread_id = self.text("thread_id", _read_id) if "thread_id" in value else None
        sig = self.text("sig", _read_sig) if "sig" in value or kind != SEALED else None
        if kind is not None and kind.startswith(_SERVICE_TYPES):
            self.wrong(("type",), "Types that begin with aim. are the service's own.", Code.RESERVED_TYPE)
        if kind == SEALED:
            self.sealed(value.get("body"), to)
        if identifier is None or sender is None or to is None or kind is None or ts is None or body is None:
            return None
        if self.problems:
            return None
        # Every other member is ASCII that no JSON text escapes, so only the body needs the general writer.
        texts = {name: f'"{member}"' for name, member in value.items() if name != "body"} | {"body": body}
        text = _object(texts)
        texts.pop("sig", None)
        return Envelope(
            id=identifier,
            sender=sender,
            to=to,
            type=kind,
            ts=ts,
            ts_text=str(value["ts"]),
            body=value["body"],
            reply_to=reply_to,
            thread_id=thread_id,
            sig=sig,
            text=text,
            digest=hashlib.sha256(_object(texts).encode("utf-8")).hexdigest(),
            size=len(text.encode("utf-8")),
        )

    def text(self, name: str, parse: Callable[[str], _T], code: Code = Code.INVALID_ENVELOPE) -> _T | None:
        member = self.value.get(name)
        if isinstance(member, str):
            try:
                return parse(member)
            except ValueError as error:
                self.wrong((name,), str(error), code)
        else:
            self.wrong((name,), f"{name} is {'a string' if name in self.value else 'missing'}.")
        return None

    def body(self) -> str | None:
        """The canonical text of the body."""
        body = self.value.get("body")
        if body is None:
            self.wrong(("body",), "body is any JSON value but null.")
            return None
        try:
            return canonicalize(body).decode("utf-8")
        except CanonicalError as error:
            self.wrong(("body",), str(error))
            return None

    def sealed(self, body: Json, to: Address | Board | None) -> None:
        if isinstance(to, Board):
            self.wrong(("to",), "Only a message to one agent can be sealed.", Code.SEALED_NOT_ALLOWED)
        if body is None:
            return
        if not isinstance(body, dict) or body.keys() != {"alg", "to_key", "ct"}:
            self.wrong(("body",), 'The body of a sealed message is {"alg", "to_key", "ct"}.')
            return
        if body["alg"] != SEALED_ALGORITHM:
            self.wrong(("body", "alg"), f"alg is {SEALED_ALGORITHM}.")
        checks: tuple[tuple[str, Callable[[Any], bytes]], ...] = (
            ("to_key", keys.parse_public),
            ("ct", _read_ciphertext),
        )
        for name, check in checks:
            try:
                check(body[name])
            except ValueError as error:
                self.wrong(("body", name), str(error))

    def wrong(self, path: tuple[str, ...], message: str, code: Code = Code.INVALID_ENVELOPE) -> None:
        self.problems.append(_problem(path, code, message))


def _object(texts: Mapping[str, str]) -> str:
    return "{" + ",".join([f'"{name}":{texts[name]}' for name in sorted(texts)]) + "}"


def _read_id(text: str) -> str:
    if not ID.fullmatch(text):
        raise ValueError(
            "An id has 16 to 64 characters of A-Z, a-z, 0-9, '-' and '_', first a letter or digit."
        )
    return text


def _read_type(text: str) -> str:
    if not _TYPE.fullmatch(text):
        raise ValueError(
            "A type has 1 to 64 characters of a-z, 0-9, '.', '-' and '_', first a letter: message, for one."
        )
    return text


def _read_sig(text: str) -> str:
    try:
        b64url_decode(text, length=64)
    except ValueError:
        raise ValueError("sig is a signature of 64 bytes, 86 base64url characters without padding.") from None
    return text


def _read_ciphertext(text: str) -> bytes:
    data = b64url_decode(text)
    if len(data) < SEALED_MIN_BYTES:
        raise ValueError(f"A sealed text has at least {SEALED_MIN_BYTES} bytes.")
    return data


def _is_longer(value: Json, limit: int) -> bool:
    """Whether the canonical text surely has more bytes than that: each string counts with its quotes and without
    escapes, whatever else is no container as one byte. Looks at no more values than that many bytes can be."""
    least = 0
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            least += len(item) + 2
        elif isinstance(item, dict):
            # Braces and commas; quotes and a colon for each name
            least += 1 + 4 * len(item)
            if least <= limit:
                least += sum(map(len, item))
                rest.extend(item.values())
        elif isinstance(item, list):
            least += 1 + len(item)
            rest.extend(item if least <= limit else ())
        else:
            least += 1
        if least > limit:
            return True
    return False


def _nests_deeper(value: Json, limit: int) -> bool:
    level: list[Json] = [value]
    for _ in range(limit):
        level = [
            item
            for container in level
            if isinstance(container, (dict, list))
            for item in (container.values() if isinstance(container, dict) else container)
            if isinstance(item, (dict, list))
        ]
        if not level:
            return False
    return True


def _problem(path: tuple[str, ...], code: Code, message: str) -> dict[str, Any]:
    path = tuple(part if len(part) <= _SHOWN else part[:_SHOWN] + "…" for part in path)
    pointer = "".join("/" + part.replace("~", "~0").replace("/", "~1") for part in path)
    return {"pointer": pointer, "field": ".".join(path) or "envelope", "code": str(code), "message": message}


def _refused(problems: list[dict[str, Any]]) -> InputError:
    codes = {problem["code"] for problem in problems}
    return InputError(
        problems[:_MAX_PROBLEMS],
        problems[0]["message"] if len(problems) == 1 else "",
        code=codes.pop() if len(codes) == 1 else Code.INVALID_ENVELOPE,
    )
