"""Taking a grant or key back at its site, and handing on less of a grant: what a holder does with authority."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from agentweb.client.errors import SiteError
from agentweb.client.grant_texts import LONGEST_LIFE, Chain
from agentweb.client.inputs import Prepared
from agentweb.client.manifest import Manifest
from agentweb.wire.errors import AgentError, ClientError, Code
from agentweb.wire.grants import Mandate, attenuate, encode_chain
from agentweb.wire.money import parse_amount
from agentweb.wire.signing import SigningKey, parse_public_key
from agentweb.wire.strict_json import Json, dumps

_KEY: Final = "ed25519:"


class Send(Protocol):
    """Sends a signed request: under a grant, or with the key alone."""

    def __call__(self, prepared: Prepared, chain: Chain | None) -> Any: ...


def revoke(
    manifest: Manifest, ident: str, reason: str, *, origin: str, send: Send, under: Callable[[], Chain | None]
) -> None:
    """Take back the grant ``gr_…`` or the key ``ed25519:…`` at the site of ``manifest``.

    With the key alone first; where the site does not know what it is about, once more ``under()`` a grant. Raises
    SiteError for what the site refuses, ClientError ``not_found`` when it takes nothing back over the wire.
    """
    endpoint = manifest.endpoint("revocations")
    if endpoint is None:
        raise ClientError(Code.NOT_FOUND, f"{manifest.site} does not say where grants are revoked.")
    what: dict[str, Json] = {"key" if ident.startswith(_KEY) else "grant": ident}
    if reason:
        what["reason"] = reason
    prepared = Prepared("POST", endpoint.removeprefix(origin), dumps(what))
    try:
        send(prepared, None)
    except SiteError as error:
        chain = under() if error.code == Code.GRANT_REQUIRED else None
        if chain is None:
            raise
        send(prepared, chain)


def delegate(
    chain: Chain,
    key: SigningKey,
    *,
    to: str,
    scopes: Sequence[str] | None,
    mandate: Mandate | str | None,
    expires: int | None,
    note: str,
    one_time: bool,
    again: int,
) -> str:
    """The text of a grant that hands on less of the chain to the key ``to``; see ``AgentClient.delegate``.

    Raises ClientError ``grant_invalid`` for a child that cannot be made, AuthenticationError for one that is wider.
    """
    leaf = chain[-1]
    if leaf.delegate < 1:
        raise ClientError(
            Code.GRANT_INVALID,
            f"Grant {leaf.id} may not be handed on: it has no delegate. A grant that was "
            "asked for never may: the site's staff or a person's own key issue one that may (delegate 1 to 3).",
            grant=leaf.id,
        )
    try:
        parse_public_key(to)
        longer = attenuate(
            [grant.document for grant in chain],
            key,
            subject=to,
            scopes=scopes,
            mandate=read_mandate(mandate) if isinstance(mandate, str) else mandate,
            expires=leaf.expires if expires is None else expires,
            note=note,
            one_time=one_time,
            delegate=again,
            max_life=LONGEST_LIFE,
        )
        return encode_chain(longer)
    except AgentError:
        raise
    except ValueError as error:
        raise ClientError(Code.GRANT_INVALID, f"It cannot be handed on like this: {error}") from None


def read_mandate(text: str) -> Mandate:
    """The mandate of ``USD:10.00/30.00``: currency, most for one payment, most in all. Raises ValueError."""
    currency, colon, limits = text.partition(":")
    per_tx, slash, total = limits.partition("/")
    if not colon or not slash:
        raise ValueError("A mandate is written like USD:10.00/30.00.")
    return Mandate(currency, parse_amount(per_tx, currency), parse_amount(total, currency))
