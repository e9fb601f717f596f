"""Pairing: a program asks for a session, a person agrees in their browser (the shape of RFC 8628; AIP 5). An agent
with a key of its own asks in the same way for a grant (AGENT_ACTIONS 2.1).

::

    pending ──approve──> approved, and there is a session or a grant
       │ ├────deny─────> denied
       │ └───cancel────> cancelled, by the program itself
       └── too late ───> expired

The program has its token from the beginning; it opens nothing until the person, who typed the code, agreed. An agent
has no token: its key asks, its key fetches the grant, and the grant is of use to this key alone. Every arrow is one
conditional UPDATE whose row count is the verdict: of any number of decisions exactly one counts.

What a person gives is never more than what was asked for, and no function here takes a ``Caller``: nobody decides by
a token or a signature.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.crypto import salted_hmac

from agentweb import conf
from agentweb.access import grants, limits, revocations, sessions, tokens
from agentweb.access.database import first_write
from agentweb.access.issuing import problem
from agentweb.access.models import Grant, Pairing
from agentweb.access.rows import database, delete_in_batches, insert_if_absent
from agentweb.wire import strict_json
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AgentError, AuthorizationError, Code, InputError, RequestError, ServerError
from agentweb.wire.grants import GrantDocument, Mandate
from agentweb.wire.scopes import pattern_covers_pattern

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

State = Pairing.State

ALPHABET: Final = "BCDFGHJKMNPQRSTVWXZ"
"""No vowels, so no words; no letter that looks like a digit or like another letter (RFC 8628 6.1)."""
CODE_LENGTH: Final = 8
NO_SCOPE: Final = "agentweb:no-scope"
"""Stands in the grant of a program that gets no scope: a grant has one at least, and this one opens nothing."""

_SALT: Final = "agentweb.access.pairing.code"
_ADDRESS_SALT: Final = "agentweb.access.pairing.address"
_NOT_A_LETTER: Final = re.compile(r"[^A-Z]")
_LONGEST_TYPED: Final = 40
_TRIES: Final = 5
_KEPT: Final = timedelta(hours=1)
_KEPT_FOR_KEYS: Final = timedelta(days=1)
"""An agent fetches what it was given here; a program with a token has it already."""
_POLLS: Final = (0.5, 5)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a program asks for. ``scopes`` is None when it leaves them to the person; ``pages`` are paths of the pages
    that it wants to use; ``expires_in`` is the longest life in seconds, None when that is left to the person too."""

    scopes: tuple[str, ...] | None = None
    mandate: Mandate | None = None
    pages: tuple[str, ...] = ()
    expires_in: int | None = None

    def as_text(self) -> str:
        mandate = self.mandate
        limits_of_money = (
            None if mandate is None else [mandate.currency, str(mandate.per_tx), str(mandate.total)]
        )
        return strict_json.dumps(
            {
                "scopes": None if self.scopes is None else list(self.scopes),
                "mandate": limits_of_money,  # type: ignore[dict-item]
                "pages": list(self.pages),
                "expires_in": self.expires_in,
            }
        ).decode()


@dataclass(frozen=True, slots=True)
class Started:
    """``token`` and ``code`` (``WDJB-MJHT``) exist here and with the program only; ``token`` is of no use where a key
    asked."""

    id: str
    token: str
    code: str
    expires_at: datetime


def wanted_by(pairing: Pairing) -> Wanted:
    """What a waiting program asks for."""
    stored: Any = strict_json.loads(pairing.wanted.encode(), max_bytes=len(pairing.wanted.encode()))
    scopes, mandate = stored["scopes"], stored["mandate"]
    return Wanted(
        scopes=None if scopes is None else tuple(scopes),
        mandate=None if mandate is None else Mandate(mandate[0], int(mandate[1]), int(mandate[2])),
        pages=tuple(stored["pages"]),
        expires_in=stored["expires_in"],
    )


def start(
    *, wanted: Wanted, address: str, client_name: str = "", subject: str = "", reason: str = ""
) -> Started:
    """Let a program wait for a person's word. ``wanted`` has been checked; ``address`` is the client's.

    It waits for a session, or with ``subject``, the key that signed the request, for a grant; ``reason`` then says in
    one line what for. Raises ``rate_limited``: too many from this address, or too many wait already, of this key, of
    this address or in all.
    """
    limits.take(f"pair:{limits.address_key(address)}", conf.get("PAIRING_RATE"), limits.PAIRINGS)
    at = now_datetime()
    digest = _digest_of_address(address)
    _check_room(at, digest, subject)
    token = tokens.new()
    row = Pairing(
        id=random_id("gq_" if subject else "ss_"),
        token_digest=tokens.digest_of(token),
        address=digest,
        client_name=client_name,
        subject=subject,
        reason=reason,
        wanted=wanted.as_text(),
        created_at=at,
        expires_at=at + timedelta(minutes=conf.get("PAIRING_MINUTES")),
    )
    for _ in range(_TRIES):
        letters = "".join(secrets.choice(ALPHABET) for _ in range(CODE_LENGTH))
        row.code_digest = _digest_of_code(letters)
        # Two programs with one code at the same time: the unique constraint says no, and another code is drawn.
        if insert_if_absent([row]):
            return Started(row.id, token, f"{letters[:4]}-{letters[4:]}", row.expires_at)
    raise ServerError(Code.UNAVAILABLE, "No code could be made; send the same request again.", retry_after=1)


def find(code: str, *, by: AbstractBaseUser, address: str) -> Pairing | None:
    """The program that waits with this code, however a person writes it; None for every other text alike.

    Counts as one try of the person and of their address. Raises ``rate_limited`` after too many.
    """
    rate = conf.get("CODE_RATE")
    limits.take(f"code:user:{by.pk}", rate, limits.CODES)
    limits.take(f"code:{limits.address_key(address)}", rate, limits.CODES)
    letters = _letters_of(code)
    waiting = Pairing.objects.filter(state=State.PENDING, expires_at__gt=now_datetime())
    return waiting.filter(code_digest=_digest_of_code(letters)).first()


def decided_before(code: str, *, by: AbstractBaseUser) -> Pairing | None:
    """What this very person approved or denied under this code a moment ago: they sent the form twice."""
    decided = Pairing.objects.filter(decided_by_id=by.pk, expires_at__gt=now_datetime())
    return decided.filter(code_digest=_digest_of_code(_letters_of(code))).order_by("-decided_at").first()


def spelt(code: str) -> str:
    """A code as programs show it, whatever a person typed."""
    letters = _letters_of(code)
    return f"{letters[:4]}-{letters[4:]}"


def approve(
    pairing: Pairing,
    *,
    by: AbstractBaseUser,
    scopes: Sequence[str],
    mandate: Mandate | None,
    expires_in: int,
    site: str,
    login: str = "",
) -> str | None:
    """Begin the session that was asked for, or give the grant, with these terms; its id, None when it is too late.

    ``login`` is the person's login in their browser, whose end ends the session; a grant is for a key, and stays.
    Raises ``invalid_input`` with every problem, also for terms that are wider than what was asked for, and
    ``unavailable`` when the site has no key.
    """
    if problems := _wider(wanted_by(pairing), scopes, mandate, expires_in):
        raise InputError(problems)
    store: Callable[[], None]
    if pairing.subject:
        chain = grants.draw_up(
            subject=pairing.subject,
            scopes=scopes,
            expires_in=expires_in,
            site=site,
            mandate=mandate,
            user=by,
            note=pairing.reason,
        )
        ident, grant_id, store = chain[0].id, chain[0].id, partial(grants.store, chain, by.pk)
    else:
        session, chain = sessions.draw_up(
            ident=pairing.pk,
            token_digest=pairing.token_digest,
            user=by,
            scopes=scopes,
            expires_in=expires_in,
            site=site,
            mandate=mandate,
            client_name=pairing.client_name,
            login=login,
        )
        ident, grant_id, store = pairing.pk, chain[0].id, partial(sessions.store, session, chain)

    def work() -> str | None:
        with transaction.atomic(using=database()):
            with first_write():
                is_mine = _decide(pairing.pk, State.APPROVED, by=by, grant_id=grant_id)
            if not is_mine:
                return None
            store()
            return ident

    return revocations.in_turn(work)


def deny(pairing: Pairing, *, by: AbstractBaseUser) -> bool:
    """Refuse what a program asks for; False when it is too late."""
    return _decide(pairing.pk, State.DENIED, by=by)


def cancel(token: str) -> bool:
    """Take the request back that has this token; False when nothing waits with it."""
    waiting = Pairing.objects.filter(token_digest=tokens.digest_of(token), state=State.PENDING)
    return waiting.update(state=State.CANCELLED, decided_at=now_datetime()) == 1


@dataclass(frozen=True, slots=True)
class Standing:
    """How a request for a grant stands. ``chain`` is what was given, None while nobody has decided; ``allowance`` what
    is left of asking for it."""

    id: str
    expires_at: datetime
    chain: tuple[GrantDocument, ...] | None = None
    allowance: limits.Allowance | None = None


def look(ident: str, *, subject: str) -> Standing:
    """How the request of this key stands.

    Raises ``not_found`` for one of another key, one that was taken back and one that is forgotten; ``approval_denied``
    when the person said no, or has ended again what they gave; ``request_expired`` when nobody decided in time; and
    ``rate_limited`` for one who does not wait between asking twice.
    """
    row = Pairing.objects.filter(pk=ident, subject=subject).first() if subject else None
    if row is None or row.state == State.CANCELLED:
        raise _no_such_request()
    if row.state == State.DENIED:
        raise _denied(
            "The person said no to your request. Do not ask again; tell them what you wanted it for."
        )
    if row.state == State.APPROVED:
        if Grant.objects.filter(pk=row.grant_id, revoked_at__isnull=False).exists():
            raise _denied(
                "The person gave you a grant and has ended it since. Do not ask again; talk to them."
            )
        chain = grants.load(row.grant_id)
        if chain is None:
            raise _no_such_request()
        return Standing(row.pk, row.expires_at, chain)
    if row.expires_at <= now_datetime():
        raise RequestError(
            Code.REQUEST_EXPIRED,
            "No person answered your request in time; make a new one when they are there.",
        )
    return Standing(
        row.pk, row.expires_at, allowance=limits.take(f"waiting:{ident}", _POLLS, limits.PAIRINGS)
    )


def take_back(ident: str, *, subject: str) -> None:
    """Take the request of this key back; also one that was taken back before, or that nobody answered in time.

    Raises what ``look`` raises, but for those, and ``conflict`` when the person was faster: it is a grant now.
    """
    own = Pairing.objects.filter(pk=ident, subject=subject) if subject else Pairing.objects.none()
    if own.filter(state=State.PENDING).update(state=State.CANCELLED, decided_at=now_datetime()):
        return
    state = own.values_list("state", flat=True).first()
    if state is None:
        raise _no_such_request()
    if state == State.APPROVED:
        raise RequestError(
            Code.CONFLICT,
            "The person has approved the request already. Fetch the grant, and give it up at the manifest's "
            "endpoints.revocations if you do not need it.",
        )
    if state == State.DENIED:
        raise _denied("The person said no to your request; nothing waits any more.")


def _no_such_request() -> AgentError:
    return RequestError(Code.NOT_FOUND, "No request of your key for a grant has this id; make a new one.")


def _denied(message: str) -> AgentError:
    return AuthorizationError(Code.APPROVAL_DENIED, message)


def clear(at: datetime) -> int:
    """Delete what was over an hour before ``at``, and of keys what was over a day before; how many rows. Until then
    the token or the key is told what happened."""
    over = Q(expires_at__lt=at - _KEPT, subject="") | Q(expires_at__lt=at - _KEPT_FOR_KEYS)
    return delete_in_batches(Pairing.objects.filter(over))


def _decide(ident: str, state: State, *, by: AbstractBaseUser, grant_id: str = "") -> bool:
    at = now_datetime()
    waiting = Pairing.objects.filter(pk=ident, state=State.PENDING, expires_at__gt=at)
    return waiting.update(state=state, decided_at=at, decided_by_id=by.pk, grant_id=grant_id) == 1


def _wider(
    wanted: Wanted, scopes: Sequence[str], mandate: Mandate | None, expires_in: int
) -> list[dict[str, Any]]:
    # What the actions of a page ask for is the catalog's, which this floor does not know.
    asked = None if wanted.pages else wanted.scopes
    problems = [
        problem(f"scopes.{place}", "wider", f"{scope} was not asked for.")
        for place, scope in enumerate(scopes)
        if asked is not None
        and scope != NO_SCOPE
        and not any(pattern_covers_pattern(pattern, scope) for pattern in asked)
    ]
    if wanted.expires_in is not None and expires_in > wanted.expires_in:
        problems.append(problem("expires_in", "wider", "This is longer than what was asked for."))
    if mandate is None:
        return problems
    if wanted.mandate is None or wanted.mandate.currency != mandate.currency:
        return [
            *problems,
            problem("mandate.currency", "wider", "Spending in this currency was not asked for."),
        ]
    return problems + [
        problem(f"mandate.{name}", "wider", "This is more than what was asked for.")
        for name in ("per_tx", "total")
        if getattr(mandate, name) > getattr(wanted.mandate, name)
    ]


def _check_room(at: datetime, address: str, subject: str) -> None:
    waiting = Pairing.objects.filter(state=State.PENDING, expires_at__gt=at)
    if subject and _are_as_many(waiting.filter(subject=subject), conf.get("OPEN_GRANT_REQUESTS")):
        raise RequestError(
            Code.RATE_LIMITED,
            "Too many requests of your key wait for a person. Come again after retry_after seconds, or take a request "
            "back with DELETE.",
            retry_after=60,
        )
    # Of one address first: whoever has only that cannot close the door for all.
    if _are_as_many(waiting.filter(address=address), conf.get("OPEN_PAIRINGS_PER_ADDRESS")):
        raise RequestError(
            Code.RATE_LIMITED,
            "Too many programs at your address wait for a person. Come again after retry_after seconds, or take a "
            "request back that nobody needs.",
            retry_after=60,
        )
    if _are_as_many(waiting, conf.get("OPEN_PAIRINGS")):
        raise RequestError(
            Code.RATE_LIMITED,
            "Too many programs wait for a person at this site at the moment. Come again after retry_after seconds.",
            retry_after=60,
        )


def _are_as_many(waiting: QuerySet[Pairing], most: int) -> bool:
    return waiting.order_by("expires_at").values_list("pk", flat=True)[most - 1 : most].exists()


def _digest_of_address(address: str) -> str:
    # Addresses are few, and nobody else's business.
    return salted_hmac(_ADDRESS_SALT, limits.address_key(address), algorithm="sha256").hexdigest()


def _letters_of(code: str) -> str:
    return _NOT_A_LETTER.sub("", code[:_LONGEST_TYPED].upper())


def _digest_of_code(letters: str) -> str:
    # There are few codes: without the site's secret the database must not give them away.
    return salted_hmac(_SALT, letters, algorithm="sha256").hexdigest()
