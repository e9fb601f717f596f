"""An agent for tests: it signs its requests, or shows a session's token, against Django's test client."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, Final, Self, cast

from django.http import HttpResponse
from django.test import Client

from agentweb.access import grants, sessions, site_keys
from agentweb.access.models import Session
from agentweb.testing.grants import GrantChain, chain_of, public_key_of, read_mandate
from agentweb.testing.grants import grant as issued_grant
from agentweb.testing.origins import origin_of, site_of
from agentweb.wire.clock import now
from agentweb.wire.grants import Mandate, attenuate
from agentweb.wire.http_signature import authority_of, sign_request
from agentweb.wire.signing import SigningKey
from agentweb.wire.strict_json import dumps

_GRANT_OPTIONS: Final = ("delegate", "note", "one_time")


class TestAgent:
    """An agent with its own key and, when scopes are given, a grant that the site issued to it.

    ``spending`` (or ``mandate``, its other name) is ``"USD:50.00/200.00"`` or a ``Mandate``; ``user`` is the person for
    whom the agent acts; ``one_time``, ``delegate`` and ``note`` are the grant's. ``origin`` is what the site calls
    itself: ``AGENTWEB["ORIGIN"]``, and without it the test client's own host, under DEBUG only, as for any request.
    Raises TypeError for arguments that do not go together, ImproperlyConfigured for a site without an origin, and
    InputError for a grant that the site would not issue.
    """

    __test__ = False  # not a test class

    def __init__(
        self,
        *,
        scopes: Sequence[str] = (),
        spending: str | Mandate | None = None,
        mandate: str | Mandate | None = None,
        user: Any = None,
        origin: str | None = None,
        key: SigningKey | None = None,
        client: Client | None = None,
        expires_in: int = 3_600,
        **grant: Any,
    ) -> None:
        _check_arguments(scopes, spending, mandate, user, key, grant)
        self.key = key or SigningKey.generate()
        self.origin = origin_of(origin)
        authority_of(self.origin)  # an origin that is none is told here, not at the first request
        self.client = client or Client()
        self.grant: GrantChain | None = None
        self.grant_header = ""
        self.session: Session | None = None
        self.token = ""
        if scopes:
            self.act_under(
                issued_grant(
                    self,
                    scopes,
                    spending=read_mandate(spending if mandate is None else mandate),
                    user=user,
                    expires_in=expires_in,
                    origin=self.origin,
                    **grant,
                )
            )

    @classmethod
    def with_session(
        cls,
        *,
        scopes: Sequence[str],
        spending: str | Mandate | None = None,
        user: Any = None,
        expires_in: int = 3_600,
        one_time: bool = False,
        client_name: str = "",
        note: str = "",
        origin: str | None = None,
        client: Client | None = None,
    ) -> Self:
        """An agent that signs nothing and shows the token of a session, which begins here.

        ``session`` is the session, ``token`` its token. Raises InputError for a session that the site would not begin.
        """
        agent = cls(origin=origin, client=client)
        site_keys.ensure_active_key()
        agent.session, agent.token = sessions.create(
            user=user,
            scopes=list(scopes),
            expires_in=expires_in,
            site=site_of(agent.origin),
            mandate=read_mandate(spending),
            one_time=one_time,
            client_name=client_name,
            note=note,
        )
        return agent

    def act_under(self, given: GrantChain) -> None:
        """Send this grant from now on: one of ``grant``, of a ``PersonKey``, or one that was handed on."""
        self.grant, self.grant_header = given, given.header

    def delegate_to(
        self,
        other: TestAgent | SigningKey | str,
        *,
        scopes: Sequence[str] | None = None,
        spending: str | Mandate | None = None,
        expires_in: int | None = None,
        one_time: bool = False,
        delegate: int = 0,
        note: str = "",
    ) -> GrantChain:
        """Hand a narrower grant on, which ``other`` acts under from now on when it is a TestAgent.

        Scopes and end that are left out are those of the own grant; a mandate is only handed on when it is named.
        Raises ``grant_invalid`` for more than the own grant gives, RuntimeError without one, and ValueError for a
        grant that would be malformed.
        """
        if self.grant is None:
            raise RuntimeError("This agent has no grant to hand on: give it scopes, and delegate=1.")
        begins = int(now())
        handed = chain_of(
            attenuate(
                self.grant.documents,
                self.key,
                subject=public_key_of(other),
                scopes=scopes,
                mandate=read_mandate(spending),
                one_time=one_time,
                delegate=delegate,
                not_before=None if expires_in is None else begins,
                expires=None if expires_in is None else begins + expires_in,
                note=note,
                max_life=grants.max_life(),
            )
        )
        if isinstance(other, TestAgent):
            other.act_under(handed)
        return handed

    def signed_headers(
        self, method: str, target: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> dict[str, str]:
        """All headers of a freshly signed request; those of a session are its token instead of a signature."""
        sent = dict(headers or {})
        if body:
            sent.setdefault("Content-Type", "application/json")
        if self.token:
            return {"Authorization": f"Bearer {self.token}", **sent}
        if self.grant_header:
            sent.setdefault("Agent-Grant", self.grant_header)
        else:
            sent.setdefault("Agent-Key", self.key.public)
        signature = sign_request(
            method=method,
            url=self.origin + target,
            body=body,
            key=self.key,
            headers={name.lower(): value for name, value in sent.items()},
            created=int(now()),
        )
        return {**sent, **signature}

    def request(
        self,
        method: str,
        target: str,
        data: Any = None,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpResponse:
        """Send a signed request; ``key`` is the Idempotency-Key. Raises ValueError for a target that is no path."""
        if not target.startswith("/"):
            raise ValueError(f"A target is a path of the site, with a slash first: write '/{target[:200]}'.")
        body = b"" if data is None else data if isinstance(data, bytes) else dumps(data)
        sent = dict(headers or {})
        if key is not None:
            sent["Idempotency-Key"] = key
        return self.send(method, target, body, self.signed_headers(method, target, body, sent))

    def send(self, method: str, target: str, body: bytes, headers: Mapping[str, str]) -> HttpResponse:
        """Send these very headers, for instance a second time."""
        answer = self.client.generic(
            method,
            target,
            data=body,
            content_type=headers.get("Content-Type", ""),
            # As the origin says, so that a site with SECURE_SSL_REDIRECT does not send the agent elsewhere.
            secure=self.origin.startswith("https:"),
            headers={name: value for name, value in headers.items() if name != "Content-Type"},
        )
        return cast(HttpResponse, answer)

    def get(self, target: str, **kwargs: Any) -> HttpResponse:
        return self.request("GET", target, **kwargs)

    def post(self, target: str, data: Any = None, **kwargs: Any) -> HttpResponse:
        """POST with an Idempotency-Key of its own unless one is given."""
        kwargs.setdefault("key", secrets.token_urlsafe(16))
        return self.request("POST", target, data if data is not None else {}, **kwargs)


def _check_arguments(
    scopes: object, spending: object, mandate: object, user: object, key: object, grant: Mapping[str, Any]
) -> None:
    if isinstance(scopes, str) or not isinstance(scopes, Sequence):
        raise TypeError(f'scopes is a list like ["cart:write"], not {scopes!r}.')
    unknown = sorted(set(grant) - set(_GRANT_OPTIONS))
    if unknown:
        raise TypeError(
            f"TestAgent knows no {', '.join(unknown)}; of a grant it takes {', '.join(_GRANT_OPTIONS)}."
        )
    if spending is not None and mandate is not None:
        raise TypeError("spending and mandate are one thing; give one of them.")
    if key is not None and not isinstance(key, SigningKey):
        raise TypeError(f"key is a SigningKey, for instance SigningKey.generate(), not {type(key).__name__}.")
    given = {"spending": spending, "mandate": mandate, "user": user, **grant}
    idle = [name for name, value in given.items() if value is not None]
    if idle and not scopes:
        raise TypeError(
            f"{', '.join(idle)} would be part of a grant, and a grant has scopes: give scopes too."
        )
