"""A person's word on one call: asked for, given or withheld, and used once (AGENT_ACTIONS section 10).

::

    pending ──approve──> approved ──consume──> used
       │ └────deny─────> denied
       └── too late ───> expired <── too late ── approved

An approval is bound by its digest to the site, the caller, the grant, the action, the declared cost and the exact
input. Every arrow is one conditional UPDATE whose row count is the verdict, so of any number of processes that
decide, or that use one approval, exactly one succeeds.

Only a person decides: nothing here takes a ``Caller``, and the pages that call it know people by their login alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from django.core.exceptions import PermissionDenied
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from agentweb import conf
from agentweb.access.callers import Caller
from agentweb.access.models import KEY_LENGTH, Approval, Bucket, Grant, Revocation
from agentweb.access.rows import insert_if_absent
from agentweb.signals import approval_asked
from agentweb.wire import canonical, strict_json
from agentweb.wire.clock import now_datetime
from agentweb.wire.encoding import random_id
from agentweb.wire.errors import AuthorizationError, Code, RequestError
from agentweb.wire.strict_json import Json

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

State = Approval.State

DENIED_FOR: Final = timedelta(hours=1)
"""How long the same call is refused after a person said no, without asking them again."""
PERMISSION: Final = "agentweb.decide_approval"
"""With it, staff decide about calls of every agent."""


class End(StrEnum):
    """Why a call that waits cannot be made any more."""

    REVOKED = "revoked"
    EXPIRED = "expired"
    PERSON = "person"


_DOMAIN: Final = "agentweb-approval/1"
_OPEN: Final = (State.PENDING, State.APPROVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The one call that a person is asked about.

    ``value`` is the input exactly as the handler gets it, ``shown`` what people see of it. ``amount`` is the declared
    cost in minor units, None when the action declares none.
    """

    site: str
    action: str
    effect: str
    caller: Caller
    value: Json
    shown: Json
    amount: int | None = None
    currency: str = ""

    @property
    def grant_id(self) -> str:
        return self.caller.grant.id if self.caller.grant else ""

    def digest(self) -> str:
        """What binds an approval to this call and to no other; ``"sha256:"`` and hex."""
        return canonical.digest(
            {
                "type": _DOMAIN,
                "site": self.site,
                "subject": self.caller.subject,
                "grant": self.grant_id,
                "action": self.action,
                # As a text: the canonical form takes every number for its nearest double, the handler does not.
                "input": exact_text(self.value),
                "amount": None if self.amount is None else str(self.amount),
                "currency": self.currency,
            }
        )


def exact_text(value: Json) -> str:
    """JSON with sorted names and every digit of every number; two inputs that differ have different texts."""
    return strict_json.dumps(_sorted(value)).decode()


def _sorted(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


def consume(digest: str) -> bool:
    """Use the approval of a call up; False when there is none, or another process was first.

    Belongs into the transaction in which the call runs: what is rolled back was not used.
    """
    now = now_datetime()
    approved = Approval.objects.filter(digest=digest, state=State.APPROVED, expires_at__gt=now)
    return approved.update(state=State.USED, used_at=now, input="") == 1


def take(digest: str) -> str:
    """``consume`` for what may come to nothing after its transaction has committed: the approval's id, "" for none."""
    now = now_datetime()
    approved = Approval.objects.filter(digest=digest, state=State.APPROVED, expires_at__gt=now)
    ident = approved.values_list("pk", flat=True).first()
    used = approved.filter(pk=ident).update(state=State.USED, used_at=now, input="") if ident else 0
    return str(ident) if used else ""


def give_back(approval_id: str) -> None:
    """What an approval was taken for has come to nothing: until its end it lets the call through again."""
    used = Approval.objects.filter(pk=approval_id, state=State.USED, expires_at__gt=now_datetime())
    with suppress(IntegrityError), transaction.atomic():
        # Unless the person was asked anew meanwhile: of each call one approval is open.
        used.update(state=State.APPROVED, used_at=None)


def ask(wanted: Wanted) -> Approval:
    """The open approval of this call, made when there is none; ``approval_asked`` is sent for a new one.

    Inside a transaction, whose commit lets the next one ask: what an agent has open is counted exactly. Raises 403
    ``approval_denied`` when a person denied this very call within ``DENIED_FOR``, 429 ``rate_limited`` when
    OPEN_APPROVALS of this agent wait already.
    """
    holder = _holder(wanted.caller)
    now = now_datetime()
    _order_askings(holder, now)
    digest = wanted.digest()
    same = Approval.objects.filter(digest=digest)
    found = same.filter(state__in=(*_OPEN, State.DENIED), expires_at__gt=now).order_by("-created_at").first()
    if found is not None and found.state == State.DENIED:
        raise AuthorizationError(
            Code.APPROVAL_DENIED,
            "A person has denied this call; nothing was done. Do not repeat it: tell the person what you wanted and "
            "ask what to do instead.",
            approval=found.id,
        )
    if found is not None:
        return found
    _close(same.filter(state__in=_OPEN))
    _check_room(holder, now)
    approval = Approval(
        id=random_id("ap_"),
        digest=digest,
        site=wanted.site,
        action=wanted.action,
        effect=wanted.effect,
        subject=wanted.caller.subject,
        holder=holder,
        grant_id=wanted.grant_id,
        user_id=wanted.caller.user_id,
        input=exact_text(wanted.value),
        shown=strict_json.dumps(wanted.shown).decode(),
        amount=wanted.amount,
        currency=wanted.currency,
        state=State.PENDING,
        created_at=now,
        expires_at=now + _period(),
    )
    if not insert_if_absent([approval]):
        return same.filter(state__in=_OPEN).get()
    transaction.on_commit(
        partial(
            approval_asked.send_robust,
            sender=wanted.action,
            approval_id=approval.id,
            user_id=wanted.caller.user_id,
        ),
        robust=True,
    )
    return approval


def _holder(caller: Caller) -> str:
    """Whose open requests are counted together; what does not fit the column (a long user id) as its digest."""
    key = caller.rate_key
    return key if len(key) <= KEY_LENGTH else hashlib.sha256(key.encode()).hexdigest()


def _order_askings(holder: str, now: datetime) -> None:
    """One agent's askings come one after the other: without this lock, racing ones would each count the others out."""
    Bucket.objects.bulk_create(
        [Bucket(key=f"lock:approvals:{holder}", tat=int(now.timestamp() * 1e6))],
        update_conflicts=True,
        unique_fields=["key"],
        update_fields=["tat"],
    )


def _check_room(holder: str, now: datetime) -> None:
    most: int = conf.get("OPEN_APPROVALS")
    waiting = Approval.objects.filter(holder=holder, state=State.PENDING, expires_at__gt=now)
    ends = list(waiting.order_by("expires_at").values_list("expires_at", flat=True)[:most])
    if len(ends) >= most:
        raise RequestError(
            Code.RATE_LIMITED,
            f"{most} of your calls wait for a person's approval already. Let the person decide about them first.",
            retry_after=(ends[0] - now).total_seconds(),
            limit={"open_approvals": most},
        )


def approve(approval_id: str, *, by: AbstractBaseUser | AnonymousUser) -> bool:
    """Let the call through once, within APPROVAL_MINUTES from now.

    False when it is too late: decided before, expired, or the agent may not act any more. Raises
    PermissionDenied when this user may not decide, or there is no such approval.
    """
    return _decide(approval_id, by, State.APPROVED, _period())


def deny(approval_id: str, *, by: AbstractBaseUser | AnonymousUser) -> bool:
    """Refuse the call, and the same call again for ``DENIED_FOR``; as ``approve`` otherwise."""
    return _decide(approval_id, by, State.DENIED, DENIED_FOR, input="")


def _decide(
    approval_id: str, by: AbstractBaseUser | AnonymousUser, state: State, period: timedelta, **more: Any
) -> bool:
    approval = decidable_by(by, approval_id)
    if approval is None:
        raise PermissionDenied("This user may not decide about this call.")
    if state == State.APPROVED and ends_of([approval]):
        return False
    now = now_datetime()
    pending = Approval.objects.filter(pk=approval.pk, state=State.PENDING, expires_at__gt=now)
    decided = pending.update(state=state, decided_at=now, decided_by=by.pk, expires_at=now + period, **more)
    return decided == 1


def may_decide(approval: Approval, user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether this user may decide: the active person for whom the agent acts, or staff with the permission.

    About a call of an agent that acts for nobody, staff only.
    """
    if not _is_active(user):
        return False
    return (approval.user_id is not None and approval.user_id == user.pk) or decides_for_all(user)


def decides_for_all(user: AbstractBaseUser | AnonymousUser) -> bool:
    """Whether this user is staff with the permission to decide about every agent's calls."""
    # A site's own user model may know neither staff nor permissions.
    has_perm = getattr(user, "has_perm", None)
    return (
        _is_active(user)
        and bool(getattr(user, "is_staff", False))
        and has_perm is not None
        and bool(has_perm(PERMISSION))
    )


def decidable_by(user: AbstractBaseUser | AnonymousUser, approval_id: str) -> Approval | None:
    """The approval of this id when the user may decide about it, whatever its state; else None."""
    approval = Approval.objects.select_related("user").filter(pk=approval_id).first()
    return approval if approval is not None and may_decide(approval, user) else None


def waiting_for(user: AbstractBaseUser | AnonymousUser) -> QuerySet[Approval]:
    """What waits for this user, oldest first: calls of their agents and, for staff with the permission, of agents that
    act for nobody."""
    if not _is_active(user):
        return Approval.objects.none()
    whose = Q(user_id=user.pk)
    if decides_for_all(user):
        whose |= Q(user_id=None)
    waiting = Approval.objects.filter(whose, state=State.PENDING, expires_at__gt=now_datetime())
    return waiting.select_related("user").order_by("created_at")


def state_of(approval: Approval) -> State:
    """The state at this moment: an open one that nobody closed yet may be over."""
    state = State(approval.state)
    return State.EXPIRED if state in _OPEN and approval.expires_at <= now_datetime() else state


def ends_of(found: Sequence[Approval]) -> dict[str, End]:
    """Why calls that wait cannot be made any more, whatever is decided: id -> reason, for those that cannot.

    Two queries for any number of approvals whose users are there.
    """
    at = now_datetime()
    grants = {
        pk: (expires_at <= at, {pk, root, parent, issuer})
        for pk, root, parent, issuer, expires_at in Grant.objects.filter(
            pk__in={each.grant_id for each in found}
        ).values_list("pk", "root_id", "parent_id", "issuer", "expires_at")
    }
    idents = {each.subject for each in found}.union(*(names for _over, names in grants.values())) - {""}
    # What is unlisted counts in some chains only, and is left to the call itself.
    revoked = set(Revocation.objects.filter(ident__in=idents, by="").values_list("ident", flat=True))
    ends: dict[str, End] = {}
    for each in found:
        is_over, names = grants.get(each.grant_id, (False, set[str]()))
        if not revoked.isdisjoint({*names, each.subject}):
            ends[each.pk] = End.REVOKED
        elif each.user is not None and not getattr(each.user, "is_active", True):
            ends[each.pk] = End.PERSON
        elif is_over:
            ends[each.pk] = End.EXPIRED
    return ends


def close_overdue(at: datetime) -> int:
    """Expire what was left open past its end, and erase its exact input; how many rows."""
    return _close(Approval.objects.filter(state__in=_OPEN, expires_at__lte=at))


def _close(rows: QuerySet[Approval]) -> int:
    return rows.update(state=State.EXPIRED, input="")


def _is_active(user: AbstractBaseUser | AnonymousUser) -> bool:
    return bool(user.is_authenticated) and bool(getattr(user, "is_active", True))


def _period() -> timedelta:
    return timedelta(minutes=conf.get("APPROVAL_MINUTES"))
