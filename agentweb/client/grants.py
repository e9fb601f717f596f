"""Which grant to sign with: the narrowest that will do (AGENT_ACTIONS 2.7).

The choice is a minimum over tuples, so it does not depend on the order in which grants were added.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agentweb.client.grant_texts import Chain
from agentweb.wire.money import format_amount
from agentweb.wire.scopes import covers, specificity

MARGIN: Final = 30
"""Seconds that a grant must still live, so that it does not end under way."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a call needs of its grant.

    ``scope`` None: any grant of the site will do. ``spends``: there must be a mandate; ``currency`` and
    ``amount`` (minor units) say what for, both None when the cost is not known beforehand. ``may_spend``
    False: there must be none.
    """

    site: str
    subject: str
    now: float
    scope: str | None = None
    spends: bool = False
    may_spend: bool = True
    currency: str | None = None
    amount: int | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What the agent learned of its grants: those refused for good, and minor units spent by grant id."""

    ended: Mapping[str, str]
    spent: Mapping[str, int]


def narrowest(chains: Iterable[Chain], need: Need, known: Known) -> Chain | None:
    """The chain to sign with, or None. Equal sets of chains give the same answer in any order."""
    return next(iter(by_width(chains, need, known)), None)


def by_width(chains: Iterable[Chain], need: Need, known: Known) -> list[Chain]:
    """All chains that will do, the narrowest first."""
    candidates = [chain for chain in chains if is_candidate(chain, need, known)]
    return sorted(candidates, key=lambda chain: _order(chain, need, known))


def is_candidate(chain: Chain, need: Need, known: Known) -> bool:
    """Would the site take this grant for this call, as far as the agent knows?"""
    leaf = chain[-1]
    if leaf.audience != need.site or leaf.subject != need.subject:
        return False
    if any(grant.id in known.ended for grant in chain):
        return False
    if not all(grant.not_before <= need.now and need.now + MARGIN <= grant.expires for grant in chain):
        return False
    if need.scope is not None and not any(covers(pattern, need.scope) for pattern in leaf.scopes):
        return False
    if leaf.mandate is not None and not need.may_spend:
        return False
    return not need.spends or _pays(chain, need, known)


def remaining(chain: Chain, known: Known) -> int | None:
    """Minor units that the chain's mandates still allow; None without a mandate."""
    rests = [grant.mandate.total - known.spent.get(grant.id, 0) for grant in chain if grant.mandate]
    return min(rests) if chain[-1].mandate is not None else None


def described(chain: Chain, known: Known) -> dict[str, Any]:
    """A held grant for its owner: what it opens until when, what it has left, and why it ``ended``, if it did."""
    leaf, rest = chain[-1], remaining(chain, known)
    mandate = None
    if leaf.mandate is not None and rest is not None:
        currency = leaf.mandate.currency
        mandate = {
            "currency": currency,
            "per_tx": format_amount(leaf.mandate.per_tx, currency),
            "total": format_amount(leaf.mandate.total, currency),
            "remaining": format_amount(max(rest, 0), currency),
        }
    return {
        "id": leaf.id,
        "site": leaf.audience,
        "scopes": list(leaf.scopes),
        "expires": leaf.expires,
        "one_time": leaf.one_time,
        "mandate": mandate,
        "ended": next((known.ended[grant.id] for grant in chain if grant.id in known.ended), None),
    }


def _pays(chain: Chain, need: Need, known: Known) -> bool:
    mandate, rest = chain[-1].mandate, remaining(chain, known)
    if mandate is None or rest is None:
        return False
    if need.currency is not None and mandate.currency != need.currency:
        return False
    amount = 1 if need.amount is None else need.amount
    return amount <= mandate.per_tx and amount <= rest


def _order(
    chain: Chain, need: Need, known: Known
) -> tuple[tuple[int, int], int, bool, bool, int, int, int, str]:
    leaf = chain[-1]
    if need.scope is None:
        # No pattern is asked for, so a grant is as wide as its widest.
        width = max(map(specificity, leaf.scopes))
    else:
        width = min(specificity(pattern) for pattern in leaf.scopes if covers(pattern, need.scope))
    return (
        width,
        len(leaf.scopes),
        not leaf.one_time,
        leaf.mandate is not None,
        leaf.mandate.per_tx if leaf.mandate else 0,
        remaining(chain, known) or 0,
        leaf.expires,
        leaf.id,
    )
