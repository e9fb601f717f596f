"""Who is calling, whatever protocol brought the call.

A ``Caller`` is plain: every floor below HTTP takes one and asks it nothing about the request.
Kinds: ``anonymous``; ``agent`` (signed under a grant, or with a bare key); ``session`` (a bearer handle to a
site-issued grant); ``person`` (a logged-in browser on people's pages); ``site`` (commands and tasks).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from django.contrib.auth.models import AnonymousUser

from agentweb.access import persons
from agentweb.access.limits import Allowance
from agentweb.wire.grants import GrantDocument

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

ANONYMOUS: Final = "anonymous"
AGENT: Final = "agent"
SESSION: Final = "session"
PERSON: Final = "person"
SITE: Final = "site"


@dataclass(frozen=True)
class Caller:
    """``subject`` names the caller in receipts, audit and idempotency: ``ed25519:…``, ``session:…``, ``user:…``
    or ``""``. ``chain`` is the grant chain, root first; ``address`` the client's IP address; ``is_persons`` says
    that the chain's first grant was issued by a key of the person's own, not by the site. ``allowance`` is what
    the caller's limit has left after this request."""

    kind: str
    subject: str = ""
    agent_key: str | None = None
    chain: tuple[GrantDocument, ...] = ()
    user_id: Any = None
    address: str = ""
    is_persons: bool = False
    allowance: Allowance | None = field(default=None, compare=False, repr=False)

    @property
    def is_anonymous(self) -> bool:
        return self.kind == ANONYMOUS

    @property
    def grant(self) -> GrantDocument | None:
        """The leaf: the grant this caller holds."""
        return self.chain[-1] if self.chain else None

    @property
    def root(self) -> GrantDocument | None:
        return self.chain[0] if self.chain else None

    @property
    def scopes(self) -> tuple[str, ...]:
        """Scope patterns of the leaf grant."""
        return self.chain[-1].scopes if self.chain else ()

    @property
    def rate_key(self) -> str:
        """Whose requests are counted together, ``""`` for an unsigned request.

        Everyone down a chain counts as the key that the site gave the first grant to, else handing on a grant would
        make new limits without end; and under a first grant that a person issued, as that person, whose own key
        can issue as many.
        """
        if self.is_persons:
            return f"user:{self.user_id}"
        return self.chain[0].subject if self.chain else self.subject

    @cached_property
    def user(self) -> AbstractBaseUser | AnonymousUser:
        """The person for whom the caller acts, read once when first asked for."""
        if self.user_id is None:
            return AnonymousUser()
        return persons.find(self.user_id) or AnonymousUser()


def anonymous(address: str, allowance: Allowance | None = None) -> Caller:
    """The caller of an unsigned request."""
    return Caller(kind=ANONYMOUS, address=address, allowance=allowance)
