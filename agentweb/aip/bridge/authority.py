"""By what a call was allowed, to be looked at again when it is delivered: a page acts seconds after its agent asked.

What is looked at is what may have changed since: revocations, and for a session the person's password. That the person
is active and logged in, the page's login says; when the authority ends, the call's deadline does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from django.db.models import Exists, Q

from agentweb.access.callers import SESSION, Caller
from agentweb.access.models import Revocation
from agentweb.people import presence
from agentweb.wire.clock import from_unix

REVOKED: Final = "revoked"
"""Why a call was dropped: what had allowed it was revoked."""


def idents_of(caller: Caller) -> str:
    """The grants and keys whose revocation ends the call, as the JSON list that is kept with it."""
    found = {each for grant in caller.chain for each in (grant.id, grant.issuer, grant.subject)}
    found |= {caller.subject, caller.agent_key or ""}
    return json.dumps(sorted(found - {""}))


def password_of(caller: Caller) -> str:
    """A digest that is the person's as long as a session of theirs counts; "" where a password ends nothing."""
    person: Any = caller.user
    return presence.password_of(person) if caller.kind == SESSION and person.is_authenticated else ""


def ends_at(caller: Caller) -> datetime | None:
    """When the authority ends by itself."""
    return min((from_unix(grant.expires) for grant in caller.chain), default=None)


def unrevoked(idents: str) -> Q:
    """The condition that none of these has been revoked."""
    members = json.loads(idents)
    return Q(~Exists(Revocation.objects.filter(by="", ident__in=members))) if members else Q()


def revoked_among(lists: Iterable[str]) -> set[str]:
    """Those of these lists of which something was revoked. One query."""
    given = {text: set(json.loads(text)) for text in lists}
    idents = set().union(*given.values())
    if not idents:
        return set()
    revoked = set(Revocation.objects.filter(by="", ident__in=idents).values_list("ident", flat=True))
    return {text for text, members in given.items() if members & revoked}


def has_password(person: Any, password: str) -> bool:
    """Whether the password is still that of the call."""
    return not password or presence.has_password(person, password)
