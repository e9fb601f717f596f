"""Grants and chains of them: build, encode, attenuate, verify (AGENT_ACTIONS 2.1 to 2.4).

A grant says which scopes an agent's key has at one site, for how long, and what it may spend. Its holder may
hand on less of it by signing a child; a chain is ``[root, ..., leaf]``. Everything here is about the
documents: whether the root's issuer is trusted and whether an id is revoked is for the site to know.

Order of checks (2.3): ``decode_header`` (size, shape), ``verify_chain`` (signatures, links, narrowing,
holder), ``check_audience``, ``check_time``; each failure has a code or a reason of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from agentweb.wire.canonical import CanonicalError, canonicalize
from agentweb.wire.encoding import b64url, b64url_decode, new_nonce
from agentweb.wire.errors import AgentError, AuthenticationError, Code
from agentweb.wire.grant_shape import (
    GRANT_ID,
    GRANT_LABEL,
    SESSION_SUBJECT,
    GrantDocument,
    Mandate,
    grant_id,
    read_grant,
)
from agentweb.wire.scopes import pattern_covers_pattern
from agentweb.wire.signing import SigningKey, document_signature_is_valid, sign_document
from agentweb.wire.strict_json import Json, loads

__all__ = [
    "GRANT_LABEL",
    "MAX_CHAIN",
    "MAX_HEADER",
    "MAX_LIFE",
    "GrantDocument",
    "Mandate",
    "attenuate",
    "check_audience",
    "check_time",
    "decode_header",
    "encode_chain",
    "grant_id",
    "new_grant",
    "parse_grant",
    "verify_chain",
]

HEADER_PREFIX: Final = "v1."
MAX_CHAIN: Final = 4
MAX_HEADER: Final = 8_192
"""Characters of an ``Agent-Grant`` header, and so of a chain in it."""
MAX_LIFE: Final = 90 * 86_400
"""Default of the longest ``expires - not_before``, in seconds."""


def new_grant(
    *,
    issuer: SigningKey,
    subject: str,
    audience: str,
    scopes: Sequence[str],
    expires: int,
    not_before: int,
    mandate: Mandate | None = None,
    one_time: bool = False,
    delegate: int = 0,
    parent: str | None = None,
    note: str = "",
    nonce: str | None = None,
    max_life: int = MAX_LIFE,
) -> dict[str, Any]:
    """A signed grant document; members that say nothing (no mandate, no note, ...) are left out.

    Raises ValueError, with a sentence for the person who asked, when the result would be malformed.
    """
    document: dict[str, Any] = {
        "type": GRANT_LABEL,
        "issuer": issuer.public,
        "subject": subject,
        "audience": audience,
        "scopes": list(scopes),
    }
    if mandate is not None:
        document["mandate"] = mandate.document()
    if one_time:
        document["one_time"] = True
    if delegate:
        document["delegate"] = delegate
    if parent is not None:
        document["parent"] = parent
    document |= {
        "not_before": not_before,
        "expires": expires,
        "nonce": new_nonce() if nonce is None else nonce,
    }
    if note:
        document["note"] = note
    # Read before it is signed: a key never signs what the other end will refuse.
    read_grant({**document, "sig": b64url(bytes(64))}, max_life)
    return sign_document(document, issuer, label=GRANT_LABEL)


def parse_grant(document: Json, *, max_life: int = MAX_LIFE) -> GrantDocument:
    """The grant in a JSON value, if its shape is right at every level; signatures are not looked at.

    ``max_life`` is the longest ``expires - not_before`` in seconds. Raises ``grant_invalid``, reason
    ``malformed``; the message names the member and the rule, never the value.
    """
    try:
        return read_grant(document, max_life)
    except ValueError as error:
        raise _malformed(str(error)) from None


def encode_chain(chain: Sequence[Mapping[str, Any]]) -> str:
    """The ``Agent-Grant`` header of a chain, root first. ValueError when no site would take it."""
    if not 1 <= len(chain) <= MAX_CHAIN:
        raise ValueError(f"A chain has 1 to {MAX_CHAIN} grants.")
    text = HEADER_PREFIX + b64url(canonicalize([dict(document) for document in chain]))
    if len(text) > MAX_HEADER:
        raise ValueError(f"The chain needs {len(text)} characters; a header has at most {MAX_HEADER}.")
    return text


def decode_header(text: str, *, max_life: int = MAX_LIFE) -> list[GrantDocument] | str:
    """The chain in an ``Agent-Grant`` header, root first, or the ``gr_…`` id that stands for it.

    Raises ``grant_invalid``: reason ``malformed`` for size, spelling and shape, ``chain`` for more than four
    grants. The JSON inside must be canonical, so a chain has one spelling only.
    """
    if len(text) > MAX_HEADER:
        raise _malformed(f"Agent-Grant is longer than {MAX_HEADER} characters.")
    if GRANT_ID.fullmatch(text):
        return text
    if not text.startswith(HEADER_PREFIX):
        raise _malformed(
            'Agent-Grant is "v1." and the base64url of a chain, or the id gr_... of a known grant.'
        )
    try:
        data = b64url_decode(text.removeprefix(HEADER_PREFIX))
        documents = loads(data, max_bytes=MAX_HEADER, max_depth=4)
        canonical = canonicalize(documents)
    except CanonicalError:
        raise _malformed("The chain is not canonical JSON (RFC 8785).") from None
    except ValueError as error:
        raise _malformed(str(error)) from None
    except AgentError as error:
        raise _malformed(error.message) from None
    if canonical != data:
        raise _malformed("The chain is not canonical JSON (RFC 8785).")
    if not isinstance(documents, list) or not documents:
        raise _malformed("The chain is a JSON list of grants, root first.")
    _check_length(documents)
    chain = [parse_grant(document, max_life=max_life) for document in documents]
    if any(SESSION_SUBJECT.fullmatch(grant.subject) for grant in chain):
        # Its holder proves a token, not a key; it would be a grant for whoever copies it.
        raise _malformed("A grant of a session cannot be used with a signature.")
    return chain


def verify_chain(chain: Sequence[GrantDocument], *, signed_by: str | None) -> None:
    """Signatures, links, narrowing and holder of a chain, root first (2.3, steps 3, 5, 6 and 10).

    ``signed_by`` is the public key that signed the request, None to leave the holder unchecked. Raises
    ``grant_invalid`` with the reason ``chain`` (length, a root with a parent, a broken link), ``signature``,
    ``not_narrower`` or ``wrong_agent``.
    """
    _check_length(chain)
    for grant in chain:
        if not document_signature_is_valid(grant.document, grant.issuer, GRANT_LABEL):
            raise _invalid("signature", f"The signature of grant {grant.id} is not its issuer's.")
    if chain[0].parent is not None:
        raise _invalid("chain", "The first grant of a chain has no parent; send the whole chain, root first.")
    for parent, child in pairwise(chain):
        if child.parent != parent.id or child.issuer != parent.subject:
            raise _invalid(
                "chain", f"Grant {child.id} must name {parent.id} as parent and be issued by its subject."
            )
    for parent, child in pairwise(chain):
        wider = _what_is_wider(parent, child)
        if wider:
            raise _invalid("not_narrower", f"Grant {child.id} gives more than {parent.id} has: {wider}.")
    if signed_by is not None and chain[-1].subject != signed_by:
        raise _invalid("wrong_agent", "The request is signed by another key than the grant's subject.")


def check_audience(chain: Sequence[GrantDocument], site: str) -> None:
    """Is every grant for this site (``host[:port]``)? Raises ``grant_wrong_site`` with ``audience``."""
    for grant in chain:
        if grant.audience != site:
            raise AuthenticationError(
                Code.GRANT_WRONG_SITE,
                f"Grant {grant.id} is for {grant.audience}; use a grant for this site.",
                grant=grant.id,
                audience=grant.audience,
            )


def check_time(chain: Sequence[GrantDocument], now: float) -> None:
    """Is every grant valid at ``now`` (Unix seconds): from ``not_before`` until just before ``expires``?

    Raises ``grant_not_yet_valid`` with ``not_before`` or ``grant_expired`` with ``grant`` and ``expires``.
    """
    for grant in chain:
        if now < grant.not_before:
            raise AuthenticationError(
                Code.GRANT_NOT_YET_VALID,
                f"Grant {grant.id} begins at {grant.not_before} (Unix seconds); call again then.",
                grant=grant.id,
                not_before=grant.not_before,
            )
        if now >= grant.expires:
            raise AuthenticationError(
                Code.GRANT_EXPIRED,
                f"Grant {grant.id} ended at {grant.expires} (Unix seconds); ask for a new one.",
                grant=grant.id,
                expires=grant.expires,
            )


def attenuate(
    parent_chain: Sequence[Mapping[str, Any]],
    key: SigningKey,
    *,
    subject: str,
    scopes: Sequence[str] | None = None,
    mandate: Mandate | None = None,
    one_time: bool = False,
    delegate: int = 0,
    not_before: int | None = None,
    expires: int | None = None,
    note: str = "",
    nonce: str | None = None,
    max_life: int = MAX_LIFE,
) -> list[dict[str, Any]]:
    """The chain with a child for ``subject``, signed by ``key``, which must be the leaf's own.

    Scopes and times left out are the leaf's; a mandate, and the right to hand on, are only given when named.
    Raises ValueError for a malformed child and ``grant_invalid`` for one that breaks the chain's rules.
    """
    chain = [parse_grant(dict(document), max_life=max_life) for document in parent_chain]
    _check_length(chain)
    leaf = chain[-1]
    child = new_grant(
        issuer=key,
        subject=subject,
        audience=leaf.audience,
        scopes=leaf.scopes if scopes is None else scopes,
        expires=leaf.expires if expires is None else expires,
        not_before=leaf.not_before if not_before is None else not_before,
        mandate=mandate,
        one_time=one_time or leaf.one_time,
        delegate=delegate,
        parent=leaf.id,
        note=note,
        nonce=nonce,
        max_life=max_life,
    )
    longer = [*chain, parse_grant(child, max_life=max_life)]
    verify_chain(longer, signed_by=None)
    return [grant.document for grant in longer]


def _what_is_wider(parent: GrantDocument, child: GrantDocument) -> str | None:
    """What the child has and its parent does not give, in words; None if it is narrower (2.3)."""
    for pattern in child.scopes:
        if not any(pattern_covers_pattern(given, pattern) for given in parent.scopes):
            return f"the scope {pattern}"
    if child.audience != parent.audience:
        return "another audience"
    if child.not_before < parent.not_before or child.expires > parent.expires:
        return "a longer time"
    if child.delegate >= parent.delegate:
        return "its delegate must be smaller"
    if parent.one_time and not child.one_time:
        return "more than one use"
    return _what_mandate_is_wider(parent.mandate, child.mandate)


def _what_mandate_is_wider(parent: Mandate | None, child: Mandate | None) -> str | None:
    if child is None:
        return None
    if parent is None:
        return "a mandate"
    if child.currency != parent.currency:
        return "a mandate in another currency"
    if child.per_tx > parent.per_tx:
        return "a larger per_tx"
    if child.total > parent.total:
        return "a larger total"
    return None


def _check_length(chain: Sequence[object]) -> None:
    if not 1 <= len(chain) <= MAX_CHAIN:
        raise _invalid("chain", f"A chain has 1 to {MAX_CHAIN} grants.")


def _malformed(message: str) -> AuthenticationError:
    return _invalid("malformed", message)


def _invalid(reason: str, message: str) -> AuthenticationError:
    return AuthenticationError(Code.GRANT_INVALID, message, reason=reason)
