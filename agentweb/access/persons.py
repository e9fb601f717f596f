"""The person behind a caller, read with every call of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.db.models import Manager, QuerySet

from agentweb.access.reading import by_keys

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser


def find(user_id: Any) -> AbstractBaseUser | None:
    """The user with this primary key as the default manager finds them, active or not; None for none."""
    manager = get_user_model()._default_manager
    if not are_plain(manager.db):
        found: AbstractBaseUser | None = manager.filter(pk=user_id).first()
        return found
    rows: list[AbstractBaseUser] = by_keys(manager.model, [user_id], alias=manager.db)
    return rows[0] if rows else None


def are_plain(alias: str) -> bool:
    """Whether ``find`` depends on nothing but the users' table, in this database, so that its statement may be kept.

    A manager of the site's own may look at the current tenant, or at the time.
    """
    manager: Any = get_user_model()._default_manager
    return (
        type(manager).get_queryset is Manager.get_queryset
        and manager._queryset_class is QuerySet
        and manager.db == alias
    )
