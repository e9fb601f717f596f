"""What the database says about a chain at this moment: one query, never cached (AGENT_ACTIONS 2.3, 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist
from django.db.models import BooleanField, CharField, DateTimeField, Model, QuerySet, Value
from django.db.models.functions import Cast

from agentweb.access.models import Grant, PrincipalKey, Revocation, SiteKey
from agentweb.wire.errors import AuthenticationError, Code
from agentweb.wire.grants import GrantDocument

_REVOCATION: Final = "revocation"
_SITE: Final = "site"
_PRINCIPAL: Final = "principal"
_GRANT: Final = "grant"


@dataclass(frozen=True, slots=True)
class Standing:
    """``revoked`` are ids and keys that count no longer; ``known`` the ids of the chain that have a row.

    ``user_id`` is the person for whom the chain acts, None when there is none; ``last_used_at`` the leaf's.
    """

    issuer_kind: str | None
    revoked: frozenset[str]
    known: frozenset[str]
    user_id: Any
    user_is_active: bool
    last_used_at: datetime | None

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
    ids = [grant.id for grant in chain]
    revoked: set[str] = set()
    known: dict[str, tuple[Any, bool | None, datetime | None]] = {}
    issuer_kind: str | None = None
    principal: tuple[Any, bool | None] = (None, None)
    for kind, ident, user, active, at in _rows(
        ids, {grant.issuer for grant in chain} | {agent_key}, root.issuer
    ):
        if kind == _REVOCATION:
            revoked.add(ident)
        elif kind == _GRANT:
            known[ident] = (user, active, at)
        else:
            issuer_kind = kind
            if kind == _PRINCIPAL:
                principal = (user, active)
                if at is not None:
                    revoked.add(ident)
    user, active = principal if issuer_kind == _PRINCIPAL else known.get(root.id, (None, None, None))[:2]
    user_id = None if user is None else get_user_model()._meta.pk.to_python(user)
    return Standing(
        issuer_kind=issuer_kind,
        revoked=frozenset(revoked),
        known=frozenset(known),
        user_id=user_id,
        user_is_active=user_id is None or _is_active(user_id, active),
        last_used_at=known[leaf.id][2] if leaf.id in known else None,
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


def _rows(ids: list[str], keys: set[str], issuer: str) -> QuerySet[Any, tuple[Any, ...]]:
    """Four indexed look-ups in one round trip: (kind, ident, user id as text, user is active, time)."""
    no_user = Value(None, output_field=CharField())
    no_flag = Value(None, output_field=BooleanField())
    no_time = Value(None, output_field=DateTimeField())

    def kind(name: str) -> Value:
        return Value(name, output_field=CharField())

    def flag() -> Any:
        return "user__is_active" if _active_is_a_column() else no_flag

    user = Cast("user_id", CharField(max_length=255))
    grants = Grant.objects.filter(pk__in=ids).values_list(kind(_GRANT), "pk", user, flag(), "last_used_at")
    return grants.union(
        PrincipalKey.objects.filter(public=issuer).values_list(
            kind(_PRINCIPAL), "public", user, flag(), "revoked_at"
        ),
        SiteKey.objects.filter(public=issuer).values_list(kind(_SITE), "public", no_user, no_flag, no_time),
        Revocation.objects.filter(ident__in=[*ids, *keys]).values_list(
            kind(_REVOCATION), "ident", no_user, no_flag, no_time
        ),
        all=True,
    )


def _active_is_a_column() -> bool:
    try:
        return bool(get_user_model()._meta.get_field("is_active").concrete)
    except FieldDoesNotExist:
        return False


def _is_active(user_id: Any, active: bool | None) -> bool:
    if active is not None:
        return active
    # A user model may compute is_active, or have none, which means everyone is active.
    model: type[Model] = get_user_model()
    user = model._default_manager.filter(pk=user_id).first()
    return user is not None and bool(getattr(user, "is_active", True))
