"""Whose rows these are: the one place that decides who sees which cart, address and order.

A row belongs to an agent *and* to the person for whom it acted:

- Carts and the delivery address are one agent's working papers. Another agent of the same person has its own;
  and an agent that works for two persons keeps two carts, so nobody pays for another's shopping.
- A person at the shop's pages has papers too. An agent with a session token works at these very pages, as an
  assistant at the same desk: it has the person's own papers, and the person sees on ``/cart`` what it put there.
- Orders are the person's: any agent of that person may look them up and cancel them (given the scope). Orders of
  an agent that acts for no person are seen by that agent alone.

Whatever is not yours does not exist: the answer is the same as for an id that was never given out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import QuerySet

from agentweb.access.callers import SESSION, Caller

Rows = TypeVar("Rows", bound="QuerySet[Any]")


@dataclass(frozen=True, slots=True)
class Owner:
    """``subject`` is who acts, ``user_id`` the person behind it or None, ``desk`` whose working papers are used."""

    subject: str
    user_id: Any
    desk: str

    @classmethod
    def of(cls, caller: Caller) -> Owner:
        """The caller of an action, whatever protocol brought the call."""
        at_the_pages = caller.kind == SESSION and caller.user_id is not None
        desk = _desk_of(caller.user_id) if at_the_pages else caller.subject
        return cls(caller.subject, caller.user_id, desk)

    @classmethod
    def at_the_pages(cls, user_id: Any) -> Owner:
        """A person who uses the shop with a browser."""
        return cls(_desk_of(user_id), user_id, _desk_of(user_id))

    def papers(self, rows: Rows) -> Rows:
        """Of these carts or addresses, the ones of this desk for this person."""
        return rows.filter(**self.paper_columns())

    def orders(self, rows: Rows) -> Rows:
        """Of these orders, the ones that this owner may see."""
        if self.user_id is None:
            return rows.filter(**self.columns())
        return rows.filter(user_id=self.user_id)

    def columns(self) -> dict[str, Any]:
        """Who acts, as columns of a new order or letter."""
        return {"subject": self.subject, "user_id": self.user_id}

    def paper_columns(self) -> dict[str, Any]:
        """The owner as columns of a new cart or address."""
        return {"subject": self.desk, "user_id": self.user_id}


def _desk_of(user_id: Any) -> str:
    return f"user:{user_id}"
