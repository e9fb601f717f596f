"""Grants for tests: issued by the site, as ``manage.py issue_grant`` does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agentweb.access import grants, site_keys
from agentweb.testing.origins import site_of
from agentweb.wire.errors import MoneyError
from agentweb.wire.grants import GrantDocument, Mandate, encode_chain, parse_grant
from agentweb.wire.money import parse_amount
from agentweb.wire.signing import SigningKey

if TYPE_CHECKING:
    from agentweb.testing.agents import TestAgent


@dataclass(frozen=True, slots=True)
class GrantChain:
    """A grant with those that it descends from, root first. ``header`` is the text of ``Agent-Grant``."""

    chain: tuple[GrantDocument, ...]

    @property
    def header(self) -> str:
        return encode_chain(self.documents)

    @property
    def documents(self) -> list[dict[str, Any]]:
        """As plain JSON, for the functions of ``agentweb.wire``."""
        return [each.document for each in self.chain]

    @property
    def id(self) -> str:
        """``gr_…`` of the grant itself, the last of the chain."""
        return self.chain[-1].id

    def revoke(self, reason: str = "") -> bool:
        """Take it back at the site, with all that descend from it; True unless it was before."""
        return grants.revoke(self.id, reason)


def grant(
    agent: TestAgent | SigningKey | str,
    scopes: Sequence[str],
    *,
    spending: str | Mandate | None = None,
    user: Any = None,
    expires_in: int = 3_600,
    one_time: bool = False,
    delegate: int = 0,
    note: str = "",
    origin: str | None = None,
) -> GrantChain:
    """A grant that the site issues to an agent, a key or a public key.

    ``spending`` is ``"USD:50.00/200.00"`` or a Mandate, ``user`` the person for whom the agent acts, ``expires_in``
    seconds. The site's signing key is made if there is none. Raises InputError for what the site would not issue.
    """
    site_keys.ensure_active_key()
    return GrantChain(
        grants.issue(
            subject=public_key_of(agent),
            scopes=list(scopes),
            expires_in=expires_in,
            site=site_of(origin),
            mandate=read_mandate(spending),
            user=user,
            one_time=one_time,
            delegate=delegate,
            note=note,
        )
    )


def mandate(text: str) -> Mandate:
    """``"USD:50.00/200.00"``: currency, most for one charge, most in all. ValueError for any other text."""
    currency, _, limits = text.partition(":")
    per_tx, _, total = limits.partition("/")
    try:
        return Mandate(
            currency=currency, per_tx=parse_amount(per_tx, currency), total=parse_amount(total, currency)
        )
    except MoneyError as error:
        raise ValueError(
            f"A mandate is written like USD:50.00/200.00, not {text!r}: {error.message}"
        ) from None


def read_mandate(given: object) -> Mandate | None:
    """What is given as ``spending``. TypeError for what is no text and no Mandate."""
    if given is None or isinstance(given, Mandate):
        return given
    if isinstance(given, str):
        return mandate(given)
    raise TypeError(f'A mandate is a text like "USD:50.00/200.00" or a Mandate, not {type(given).__name__}.')


def public_key_of(holder: TestAgent | SigningKey | str) -> str:
    """``ed25519:…`` of whoever is to hold a grant."""
    if isinstance(holder, str):
        return holder
    return holder.public if isinstance(holder, SigningKey) else holder.key.public


def chain_of(documents: Iterable[dict[str, Any]]) -> GrantChain:
    """A chain from its documents, root first."""
    return GrantChain(tuple(parse_grant(document, max_life=grants.max_life()) for document in documents))
