"""What one grant document looks like, closed at every level (AGENT_ACTIONS 2.2).

Well-formed only: a signature is looked at in ``grants``, and what is allowed is for the site to know.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from agentweb.wire.encoding import b64url, b64url_decode
from agentweb.wire.errors import MoneyError
from agentweb.wire.money import format_amount, parse_amount
from agentweb.wire.scopes import check_pattern
from agentweb.wire.signing import parse_public_key, signing_input
from agentweb.wire.strict_json import MAX_SAFE_INTEGER

GRANT_LABEL: Final = "agent-grant/0.1"
MAX_DELEGATE: Final = 3
MAX_SCOPES: Final = 64
MAX_NOTE: Final = 200

GRANT_ID: Final = re.compile(r"gr_[A-Za-z0-9_-]{22}")
SESSION_SUBJECT: Final = re.compile(r"session:[A-Za-z0-9_-]{1,56}")
_LABEL: Final = r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
_AUDIENCE: Final = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9a-f:.]{{2,45}}\])(?::([1-9][0-9]{{0,4}}))?")
_MAX_AUDIENCE: Final = 255
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_REQUIRED: Final = (
    "type",
    "issuer",
    "subject",
    "audience",
    "scopes",
    "not_before",
    "expires",
    "nonce",
    "sig",
)
_OPTIONAL: Final = ("mandate", "one_time", "delegate", "parent", "note")
_MANDATE_MEMBERS: Final = ("currency", "per_tx", "total")


@dataclass(frozen=True, slots=True)
class Mandate:
    """What may be spent, in minor units of ``currency``: ``per_tx`` at once and ``total`` altogether."""

    currency: str
    per_tx: int
    total: int

    def document(self) -> dict[str, str]:
        """``{"currency", "per_tx", "total"}`` with the amounts as texts, as it stands in a grant."""
        return {
            "currency": self.currency,
            "per_tx": format_amount(self.per_tx, self.currency),
            "total": format_amount(self.total, self.currency),
        }


@dataclass(frozen=True, slots=True)
class GrantDocument:
    """A grant whose shape holds. ``document`` is the whole signed document, ``id`` its ``gr_…`` name.

    ``subject`` is ``ed25519:…`` or, for a grant behind a bearer token, ``session:…``; ``audience`` is the
    site, ``host[:port]``; times are Unix seconds. Its signature is not checked before ``verify_chain``.
    """

    document: dict[str, Any] = field(hash=False, repr=False)
    id: str
    issuer: str
    subject: str
    audience: str
    scopes: tuple[str, ...]
    mandate: Mandate | None
    one_time: bool
    delegate: int
    parent: str | None
    not_before: int
    expires: int
    note: str


def grant_id(document: Mapping[str, Any]) -> str:
    """``gr_`` and 22 characters of the SHA-256 of the signing input: a name that nobody can claim first."""
    return "gr_" + b64url(hashlib.sha256(signing_input(document, GRANT_LABEL)).digest())[:22]


def read_grant(document: object, max_life: int) -> GrantDocument:
    """The grant in a JSON value; ``max_life`` bounds ``expires - not_before``, in seconds.

    Raises ValueError with a sentence that names the member and the rule, never the value.
    """
    if not isinstance(document, dict):
        raise ValueError("A grant is a JSON object.")
    _check_members(document, _REQUIRED, _OPTIONAL, "a grant")
    if document["type"] != GRANT_LABEL:
        raise ValueError(f'type must be "{GRANT_LABEL}".')
    issuer, subject = document["issuer"], document["subject"]
    _check_key(issuer, "issuer")
    if not (isinstance(subject, str) and SESSION_SUBJECT.fullmatch(subject)):
        _check_key(subject, "subject")
    _check_audience_text(document["audience"])
    scopes = _read_scopes(document["scopes"])
    mandate = _read_mandate(document["mandate"]) if "mandate" in document else None
    one_time = document.get("one_time", False)
    if not isinstance(one_time, bool):
        raise ValueError("one_time must be true or false.")
    delegate = _read_integer(document.get("delegate", 0), "delegate", MAX_DELEGATE)
    parent = document.get("parent")
    if "parent" in document and not (isinstance(parent, str) and GRANT_ID.fullmatch(parent)):
        raise ValueError("parent must be the id of a grant, gr_ and 22 characters.")
    not_before = _read_integer(document["not_before"], "not_before", MAX_SAFE_INTEGER)
    expires = _read_integer(document["expires"], "expires", MAX_SAFE_INTEGER)
    if not not_before < expires <= not_before + max_life:
        raise ValueError(f"expires must be after not_before, by at most {max_life} seconds.")
    _check_bytes(document["nonce"], "nonce", 16)
    note = document.get("note", "")
    if not isinstance(note, str) or len(note) > MAX_NOTE or _CONTROL.search(note):
        raise ValueError(f"note must be one line of at most {MAX_NOTE} characters.")
    _check_bytes(document["sig"], "sig", 64)
    # A copy of its own, so that nobody changes a document after it was checked.
    own = {**document, "scopes": list(scopes)}
    if mandate is not None:
        own["mandate"] = dict(document["mandate"])
    return GrantDocument(
        document=own,
        id=grant_id(own),
        issuer=issuer,
        subject=subject,
        audience=document["audience"],
        scopes=scopes,
        mandate=mandate,
        one_time=one_time,
        delegate=delegate,
        parent=parent,
        not_before=not_before,
        expires=expires,
        note=note,
    )


def _check_members(
    document: dict[Any, Any], required: Sequence[str], optional: Sequence[str], what: str
) -> None:
    missing = [name for name in required if name not in document]
    if missing:
        raise ValueError(f"{what} needs the member {missing[0]}.".capitalize())
    # Closed: a member we do not know could be a limit that we would not keep.
    if any(name not in required and name not in optional for name in document):
        raise ValueError(f"{what} has no members but {', '.join([*required, *optional])}.".capitalize())


def _check_key(value: object, name: str) -> None:
    if not isinstance(value, str):
        raise ValueError(f"{name} must be a text.")
    try:
        parse_public_key(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _check_audience_text(value: object) -> None:
    match = _AUDIENCE.fullmatch(value) if isinstance(value, str) and len(value) <= _MAX_AUDIENCE else None
    if match is None or int(match[1] or 0) > 65_535:
        raise ValueError("audience must be one site: host or host:port in lower case.")


def _read_scopes(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_SCOPES:
        raise ValueError(f"scopes must be a list of 1 to {MAX_SCOPES} patterns.")
    return tuple(check_pattern(pattern) for pattern in value)


def _read_mandate(value: object) -> Mandate:
    if not isinstance(value, dict):
        raise ValueError("mandate must be an object.")
    _check_members(value, _MANDATE_MEMBERS, (), "a mandate")
    currency = value["currency"]
    return Mandate(currency, *(_read_amount(value[name], currency, name) for name in ("per_tx", "total")))


def _read_amount(value: object, currency: object, name: str) -> int:
    if not isinstance(value, str):
        raise ValueError(f'mandate.{name} must be a text such as "50.00".')
    try:
        minor = parse_amount(value, currency)  # type: ignore[arg-type]
    except MoneyError as error:
        raise ValueError(f"mandate.{name}: {error.message}") from None
    if format_amount(minor, str(currency)) != value:
        raise ValueError(f"mandate.{name} must be written with exactly the digits of its currency.")
    return minor


def _read_integer(value: object, name: str, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(f"{name} must be a whole number from 0 to {most}.")
    return value


def _check_bytes(value: object, name: str, length: int) -> None:
    try:
        b64url_decode(value, length=length)  # type: ignore[arg-type]
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
