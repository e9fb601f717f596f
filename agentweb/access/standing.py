"""What the database says about a chain at this moment: one query, its answer never kept (AGENT_ACTIONS 2.3, 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db import connections
from django.db.models import BooleanField, Case, CharField, Model, Value, When
from django.db.models.functions import Cast

from agentweb.access.models import Grant, PrincipalKey, Revocation, SiteKey
from agentweb.access.revocations import has_right
from agentweb.access.rows import database
from agentweb.wire.clock import now_datetime
from agentweb.wire.errors import AuthenticationError, Code
from agentweb.wire.grants import GrantDocument

TOUCH_EVERY: Final = timedelta(minutes=1)
"""How often the use of a grant is written down at most."""

_REVOCATION: Final = "revocation"
_SITE: Final = "site"
_PRINCIPAL: Final = "principal"
_GRANT: Final = "grant"
_LONG_AGO: Final = datetime(2001, 1, 1, tzinfo=UTC)
"""Slot of the time after which a use is recent."""


@dataclass(frozen=True, slots=True)
class Standing:
    """``revoked`` are ids and keys that count no longer; ``known`` the ids of the chain that have a row.

    ``user_id`` is the person for whom the chain acts, None when there is none; ``used_lately`` says that the
    leaf's ``last_used_at`` need not be written again.
    """

    issuer_kind: str | None
    revoked: frozenset[str]
    known: frozenset[str]
    user_id: Any
    user_is_active: bool
    used_lately: bool
    claimed: frozenset[str] = frozenset()
    """Of ``revoked``, the grants that were revoked before this site had seen them: they are in no list yet."""

    @property
    def is_persons(self) -> bool:
        """Whether a key that a person enrolled here issued the first grant."""
        return self.issuer_kind == _PRINCIPAL

    def check_issuer(self, root: GrantDocument) -> None:
        """Raise ``grant_invalid`` unless the root was issued by the site or by a person enrolled here.

        Reason ``issuer_untrusted``, or ``unknown`` for a grant of the site that the site does not know: its
        person was deleted with it, or it never was there.
        """
        if self.issuer_kind is None:
            raise AuthenticationError(
                Code.GRANT_INVALID,
                "The first grant's issuer is neither this site nor a key that a person enrolled here.",
                reason="issuer_untrusted",
            )
        if self.issuer_kind == _SITE and root.id not in self.known:
            raise unknown_grant(root.id)

    def check_not_revoked(self) -> None:
        """Raise ``grant_revoked`` for a revoked grant, issuer or agent key, or a person who is inactive."""
        for ident in sorted(self.revoked):
            what = "Grant" if ident.startswith("gr_") else "The key"
            raise _revoked(f"{what} {ident} was revoked; ask for a new grant.")
        if not self.user_is_active:
            raise _revoked("The person who gave this grant is no longer active at this site.")


def look_up(chain: Sequence[GrantDocument], agent_key: str) -> Standing:
    """The standing of a chain, root first, and of the key (or ``session:…`` handle) that uses it."""
    root, leaf = chain[0], chain[-1]
    revoked: set[str] = set()
    listed: set[str] = set()
    known: dict[str, tuple[Any, bool | None, bool]] = {}
    issuer_kind: str | None = None
    person: tuple[Any, bool | None] = (None, None)
    ids = [grant.id for grant in chain]
    for kind, ident, user, active, flag in _fetch(
        ids, {grant.issuer for grant in chain} | {agent_key}, root.issuer
    ):
        if kind == _REVOCATION:
            # In place of a user: by whose word. Of a grant that was unseen then, only that of its own people counts.
            if not user or has_right(user, ident, chain):
                revoked.add(ident)
                if not user:
                    listed.add(ident)
        elif kind == _GRANT:
            known[ident] = (user, active, bool(flag))
            if ident == root.id and issuer_kind != _PRINCIPAL:
                person = (user, active)
        else:
            issuer_kind = kind
            if kind == _PRINCIPAL:
                person = (user, active)
                if flag:
                    revoked.add(ident)
    user_id = None if person[0] is None else get_user_model()._meta.pk.to_python(person[0])
    return Standing(
        issuer_kind=issuer_kind,
        revoked=frozenset(revoked),
        known=frozenset(known),
        user_id=user_id,
        user_is_active=user_id is None or _is_active(user_id, person[1]),
        used_lately=leaf.id in known and known[leaf.id][2],
        claimed=frozenset(ident for ident in revoked - listed if ident.startswith("gr_")),
    )


def check_standing(chain: Sequence[GrantDocument], agent_key: str) -> Standing:
    """``look_up`` and both checks: for a chain that was verified before, such as the one behind a session."""
    standing = look_up(chain, agent_key)
    standing.check_issuer(chain[0])
    standing.check_not_revoked()
    return standing


def check_key_not_revoked(key: str) -> None:
    """Raise ``grant_revoked`` for a key that was revoked as such; for callers without a grant."""
    if Revocation.objects.filter(ident=key).exists():
        raise _revoked("This key was revoked; use another key.")


def unknown_grant(ident: str) -> AuthenticationError:
    """The error for an id that this site has not seen, or has forgotten."""
    return AuthenticationError(
        Code.GRANT_INVALID,
        f"This site does not know grant {ident}. Send the whole chain (v1.…) once, or ask for a new grant.",
        reason="unknown",
    )


def _revoked(message: str) -> AuthenticationError:
    return AuthenticationError(Code.GRANT_REVOKED, message)


def _fetch(ids: list[str], keys: set[str], issuer: str) -> list[tuple[Any, ...]]:
    """Four indexed look-ups in one round trip: (kind, ident, user id as text, user is active, flag).

    The flag says of a grant that it was used lately, of a person's key that it was revoked.
    """
    idents = [*ids, *keys]
    sql, params = _statement(database(), len(ids), len(idents))
    given: dict[Any, Any] = {_slot("id", n): ident for n, ident in enumerate(ids)}
    given |= {_slot("ident", n): ident for n, ident in enumerate(idents)}
    given |= {_slot("issuer", 0): issuer, _prepared(_LONG_AGO): _prepared(now_datetime() - TOUCH_EVERY)}
    with connections[database()].cursor() as cursor:
        cursor.execute(sql, [given.get(param, param) for param in params])
        return list(cursor.fetchall())


def _slot(name: str, number: int) -> str:
    return f"?{name}{number}"


# Composing this query costs twenty times as much as running it; its text depends on two small numbers only.
@cache
def _statement(alias: str, ids: int, idents: int) -> tuple[str, tuple[Any, ...]]:
    """The statement's text and its parameters, with slots where the values go."""
    no_user = Value(None, output_field=CharField())
    no_flag = Value(None, output_field=BooleanField())
    user = Cast("user_id", CharField(max_length=255))
    active = "user__is_active" if _active_is_a_column() else no_flag

    def kind(name: str) -> Value:
        return Value(name, output_field=CharField())

    issuer = _slot("issuer", 0)
    grants = Grant.objects.filter(pk__in=[_slot("id", n) for n in range(ids)])
    principals = PrincipalKey.objects.filter(public=issuer)
    sites = SiteKey.objects.filter(public=issuer)
    revocations = Revocation.objects.filter(ident__in=[_slot("ident", n) for n in range(idents)])
    rows = grants.values_list(kind(_GRANT), "pk", user, active, _flag(last_used_at__gt=_LONG_AGO)).union(
        principals.values_list(kind(_PRINCIPAL), "public", user, active, _flag(revoked_at__isnull=False)),
        sites.values_list(kind(_SITE), "public", no_user, no_flag, no_flag),
        revocations.values_list(kind(_REVOCATION), "ident", "by", no_flag, no_flag),
        all=True,
    )
    sql, params = rows.query.get_compiler(using=alias).as_sql()
    return sql, tuple(params)


def _flag(**condition: Any) -> Case:
    return Case(When(**condition, then=Value(True)), default=Value(False), output_field=BooleanField())


def _prepared(at: datetime) -> Any:
    """A time as a parameter of the database's own kind."""
    return connections[database()].ops.adapt_datetimefield_value(at)


def _active_is_a_column() -> bool:
    try:
        return bool(get_user_model()._meta.get_field("is_active").concrete)
    except FieldDoesNotExist:
        return False


def _is_active(user_id: Any, active: bool | None) -> bool:
    if active is not None:
        return bool(active)
    # A user model may compute is_active, or have none, which means everyone is active.
    model: type[Model] = get_user_model()
    user = model._default_manager.filter(pk=user_id).first()
    return user is not None and bool(getattr(user, "is_active", True))
