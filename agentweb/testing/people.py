"""A person with a key of their own, who gives agents grants without asking the site."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from agentweb.access import grants, principals, site_keys
from agentweb.testing.grants import GrantChain, chain_of, public_key_of, read_mandate
from agentweb.testing.origins import site_of
from agentweb.wire.clock import now
from agentweb.wire.grants import Mandate, new_grant
from agentweb.wire.signing import SigningKey

if TYPE_CHECKING:
    from agentweb.testing.agents import TestAgent


class PersonKey:
    """A key that is enrolled on a person's account. Raises InputError when the site would not enrol it."""

    def __init__(self, user: Any, *, key: SigningKey | None = None, label: str = "") -> None:
        self.user = user
        self.key = key or SigningKey.generate()
        principals.enrol(user, self.key.public, label)
        site_keys.ensure_active_key()  # the site signs the receipts

    def grant(
        self,
        agent: TestAgent | SigningKey | str,
        scopes: Sequence[str],
        *,
        spending: str | Mandate | None = None,
        expires_in: int = 3_600,
        one_time: bool = False,
        delegate: int = 0,
        note: str = "",
        origin: str | None = None,
    ) -> GrantChain:
        """A grant that the person signs; the site learns of it when it is used. ValueError for a malformed one."""
        begins = int(now())
        return chain_of(
            [
                new_grant(
                    issuer=self.key,
                    subject=public_key_of(agent),
                    audience=site_of(origin),
                    scopes=list(scopes),
                    mandate=read_mandate(spending),
                    not_before=begins,
                    expires=begins + expires_in,
                    one_time=one_time,
                    delegate=delegate,
                    note=note,
                    max_life=grants.max_life(),
                )
            ]
        )

    def revoke(self, reason: str = "") -> bool:
        """Take the key off the account, with every grant that it issued; True unless it was before."""
        return principals.revoke(self.key.public, reason)
