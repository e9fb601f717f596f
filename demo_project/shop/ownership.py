"""Whose rows these are: the one place that decides which agent sees which cart, address and order.

A row belongs to an agent *and* to the person for whom it acted:

- Carts and the delivery address are one agent's working papers. Another agent of the same person has its own;
  and an agent that works for two persons keeps two carts, so nobody pays for another's shopping.
- Orders are the person's: any agent of that person may look them up and cancel them (given the scope). Orders of
  an agent that acts for no person are seen by that agent alone.

Whatever is not yours does not exist: the answer is the same as for an id that was never given out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import QuerySet

from agentweb.access.callers import Caller

Rows = TypeVar("Rows", bound="QuerySet[Any]")


@dataclass(frozen=True, slots=True)
class Owner:
    """``subject`` is the acting agent, ``user_id`` the person behind it or None."""

    subject: str
    user_id: Any = None

    @classmethod
    def of(cls, caller: Caller) -> Owner:
        return cls(caller.subject, caller.user_id)

    def papers(self, rows: Rows) -> Rows:
        """Of these carts or addresses, the ones of this agent acting for this person."""
        return rows.filter(subject=self.subject, user_id=self.user_id)

    def orders(self, rows: Rows) -> Rows:
        """Of these orders, the ones that this owner may see."""
        if self.user_id is None:
            return self.papers(rows)
        return rows.filter(user_id=self.user_id)

    def columns(self) -> dict[str, Any]:
        """The owner as columns of a new row."""
        return {"subject": self.subject, "user_id": self.user_id}
