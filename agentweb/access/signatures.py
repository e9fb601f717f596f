"""From a signed request to its caller: every check of AGENT_ACTIONS 2.3, 2.5 and 2.6, in this order.

``begin``, before the body is read:
    shape of ``Agent-Grant``, form and coverage of the signature, freshness, and for ``gr_…`` the stored chain.
``finish``, with the body:
    digest, key and signature; freshness again, for the body may have come slowly; signatures of the chain;
    issuer; links and narrowing; audience; time; revocation of any grant or key and the person's standing;
    then, in one transaction of its own, the limit of the caller and the nonce, and at first sight the limit of
    new grants.

Nothing is written before the signature and the grant both hold: anyone can make a key and sign. The nonce is
committed before the work begins, so no failure of the work can bring it back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from django.db import transaction

from agentweb import conf
from agentweb.access import admission, grants, limits, nonces
from agentweb.access.callers import AGENT, Caller
from agentweb.access.limits import Allowance
from agentweb.access.remembered import Remembered
from agentweb.access.revocations import list_claims
from agentweb.access.rows import database, refusing_when_the_store_fails
from agentweb.access.standing import (
    Standing,
    check_key_not_revoked,
    check_standing,
    look_up,
    unknown_grant,
)
from agentweb.wire.clock import now
from agentweb.wire.errors import AuthenticationError, Code
from agentweb.wire.grants import (
    HEADER_PREFIX,
    GrantDocument,
    check_audience,
    check_time,
    decode_header,
    verify_chain,
)
from agentweb.wire.http_signature import (
    ParsedSignature,
    SignedRequest,
    check_freshness,
    parse_signature,
    verify_request,
)

_SIGNING_HEADERS: Final = ("agent-grant", "agent-key", "signature", "signature-input")


@dataclass(frozen=True, slots=True)
class Pending:
    """A signed request whose body has not been read. Nothing is established yet."""

    request: SignedRequest
    parsed: ParsedSignature
    chain: tuple[GrantDocument, ...]
    key: str
    longest: int
    """Life in seconds that a grant of the chain may have at this site."""

    def finish(self, body: bytes, *, address: str) -> Caller:
        """The caller, once; ``address`` is the client's IP address.

        Raises ``signature_invalid``, ``signature_expired``, ``grant_invalid``, ``grant_wrong_site``,
        ``grant_expired``, ``grant_not_yet_valid``, ``grant_revoked``, ``rate_limited``, ``request_replayed``
        or, when the database fails, ``unavailable``.
        """
        self._verify(replace(self.request, body=body))
        _check_fresh(self.parsed)
        with refusing_when_the_store_fails():
            if not self.chain:
                check_key_not_revoked(self.key)
                # A key without a grant costs nothing to make, so what bounds its nonces is the address.
                allowance = self._admit(
                    limits.address_key(address), conf.get("ANONYMOUS_RATE"), limits.ADDRESS, None
                )
                return Caller(
                    kind=AGENT, subject=self.key, agent_key=self.key, address=address, allowance=allowance
                )
            standing = _verified_standing(self.chain, self.key, self.request.authority)
            self._remember()
            caller = Caller(
                kind=AGENT,
                subject=self.key,
                agent_key=self.key,
                chain=self.chain,
                user_id=standing.user_id,
                address=address,
                is_persons=standing.is_persons,
            )
            allowance = self._admit(caller.rate_key, conf.get("CALLER_RATE"), limits.CALLER, standing)
        return replace(caller, allowance=allowance)

    def _verify(self, request: SignedRequest) -> None:
        try:
            verify_request(request, self.parsed, self.key)
        except AuthenticationError as error:
            # 2.5: what was compared is for the site's log; told to a stranger it would map the site's proxies.
            error.debug = f"Verified as {request.method} {request.authority} {request.path} {request.query}"
            raise

    def _remember(self) -> None:
        """Everything of the chain holds now; what of it follows from its text alone need not be found out again."""
        header = self.request.headers["agent-grant"]
        if header.startswith(HEADER_PREFIX):
            _decoded.keep((header, self.longest), self.chain)
        _verified.keep((self.chain, self.key), True)

    def _admit(
        self, bucket: str, rate: tuple[float, int], policy: str, standing: Standing | None
    ) -> Allowance:
        nonce = self.parsed.nonce
        expires = self.parsed.expires
        if standing is None or (self._is_known(standing) and standing.used_lately):
            return admission.admit(bucket, rate, policy, key=self.key, nonce=nonce, expires=expires)
        refused: limits.RateLimited | None = None
        # Durable: an enclosing transaction could roll the nonce back.
        with transaction.atomic(using=database(), durable=True):
            allowance = limits.take(bucket, rate, policy)
            # A replay rolls the limit back: whoever recorded a request cannot use up its sender's calls.
            nonces.burn(self.key, nonce, expires)
            if not self._is_known(standing):
                # Each of them is rows for good, and whoever issues can make them without end.
                try:
                    limits.take(f"new:{bucket}", conf.get("NEW_GRANT_RATE"), limits.NEW_GRANTS)
                except limits.RateLimited as error:
                    refused = error  # raised below, so that this call counts like others
                else:
                    grants.remember(self.chain, standing.user_id)
            if refused is None and not standing.used_lately:
                grants.touch(self.chain[-1].id)
        if refused is not None:
            raise refused
        return allowance

    def _is_known(self, standing: Standing) -> bool:
        """Whether every grant of the chain has been here before."""
        return all(grant.id in standing.known for grant in self.chain)


def begin(
    *, method: str, authority: str, path: str, query: str, headers: Mapping[str, str]
) -> Pending | None:
    """What can be said before the body is read; None for a request that nobody tried to sign.

    ``authority`` is the site's own ``host[:port]``; ``path`` and ``query`` (``"?…"``) are as on the wire;
    ``headers`` have lower-case names. Raises ``signature_invalid``, ``signature_expired``, ``grant_invalid``
    or ``unavailable``.
    """
    if not is_tried(headers):
        return None
    header = headers.get("agent-grant")
    longest = grants.max_life()
    given = None if header is None else _decode(header, longest)
    # The body is not here yet; its headers are, and finish() looks at what must be covered once more.
    request = SignedRequest(method, authority, path, query, headers, b"")
    parsed = parse_signature(request)
    _check_fresh(parsed)
    if given is None:
        return Pending(request, parsed, (), headers["agent-key"], longest)
    chain = _stored(given) if isinstance(given, str) else given
    return Pending(request, parsed, chain, chain[-1].subject, longest)


def is_tried(headers: Mapping[str, str]) -> bool:
    """Whether anybody tried to sign: then a signature that does not hold is refused, never taken for none."""
    return any(name in headers for name in _SIGNING_HEADERS)


# What a header says and whether its signatures and links hold follow from its text alone, and an agent sends
# the same one with every call. Nothing that can change is remembered: that is asked of the database. Kept is only
# what was found to hold in every respect, or strangers could push out what the site's own agents send.
_decoded: Final = Remembered[tuple[str, int], tuple[GrantDocument, ...]](1_024)
_verified: Final = Remembered[tuple[tuple[GrantDocument, ...], str], bool](1_024)


def _decode(header: str, longest: int) -> tuple[GrantDocument, ...] | str:
    kept = _decoded.get((header, longest))
    if kept is not None:
        return kept
    decoded = decode_header(header, max_life=longest)
    return decoded if isinstance(decoded, str) else tuple(decoded)


def _verify_documents(chain: tuple[GrantDocument, ...], key: str) -> None:
    if not _verified.get((chain, key)):
        verify_chain(chain, signed_by=key)


def check_again(caller: Caller) -> None:
    """Raise what a request of this signed caller would meet that came now: since it was let in, its grants may have
    ended or been revoked, its key too, and the person may have gone."""
    with refusing_when_the_store_fails():
        if caller.chain:
            check_time(caller.chain, now())
            check_standing(caller.chain, caller.subject)
        elif caller.agent_key is not None:
            check_key_not_revoked(caller.agent_key)


def _stored(ident: str) -> tuple[GrantDocument, ...]:
    with refusing_when_the_store_fails():
        chain = grants.load(ident)
    if chain is None:
        raise unknown_grant(ident)
    if chain[-1].subject.startswith("session:"):
        # Its holder proves a token, not a key.
        raise AuthenticationError(
            Code.GRANT_INVALID,
            "The grant of a session cannot be used with a signature.",
            reason="wrong_agent",
        )
    return chain


def _check_fresh(parsed: ParsedSignature) -> None:
    check_freshness(
        parsed,
        now(),
        max_window=conf.get("SIGNATURE_MAX_SECONDS"),
        skew=conf.get("SIGNATURE_SKEW_SECONDS"),
    )


def _verified_standing(chain: tuple[GrantDocument, ...], key: str, site: str) -> Standing:
    """2.3 from step 3 to step 10, each failure in its place."""
    broken: AuthenticationError | None = None
    try:
        _verify_documents(chain, key)
    except AuthenticationError as error:
        if error.extra.get("reason") == "signature":
            raise
        broken = error
    standing = look_up(chain, key)
    standing.check_issuer(chain[0])
    # Links and narrowing come after the issuer: whoever is not trusted here learns nothing but that.
    if broken is not None:
        raise broken
    check_audience(chain, site)
    check_time(chain, now())
    if standing.claimed:
        # Now it is known whose grant that is, so others may learn of it.
        list_claims([grant for grant in chain if grant.id in standing.claimed])
    standing.check_not_revoked()
    return standing
