"""From a signed request to its caller, with real keys, through begin and finish."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext

from agentweb.access import grants, signatures, site_keys
from agentweb.access.models import Bucket, Grant, Mandate, Nonce, PrincipalKey
from agentweb.testing import clock
from agentweb.wire.errors import AgentError, AuthenticationError
from agentweb.wire.grants import Mandate as MandateTerms
from agentweb.wire.grants import attenuate
from tests.access.signing import (
    ADDRESS,
    AGENT,
    BODY,
    OTHER,
    PERSON,
    Request,
    deliver,
    enrol,
    person_grant,
    signed,
    site_grant,
)

NOON = 1_790_000_000.0

pytestmark = pytest.mark.django_db


def refusal(request: Request, **kwargs: Any) -> AgentError:
    with pytest.raises(AgentError) as caught:
        deliver(request, **kwargs)
    return caught.value


def code_and_reason(request: Request) -> tuple[str, str | None]:
    error = refusal(request)
    return error.code, error.extra.get("reason")


def nothing_is_written() -> bool:
    return not (Nonce.objects.exists() or Bucket.objects.exclude(key__startswith="lock:").exists())


# -- who the caller is


def test_a_site_issued_grant_makes_an_agent_acting_for_its_person(person: User) -> None:
    chain = site_grant(user=person)
    caller = deliver(signed(grant=chain))
    assert (caller.kind, caller.subject, caller.agent_key) == ("agent", AGENT.public, AGENT.public)
    assert [grant.document for grant in caller.chain] == chain
    assert (caller.user_id, caller.user, caller.address) == (person.pk, person, ADDRESS)


def test_a_site_issued_grant_without_a_person_acts_for_nobody() -> None:
    caller = deliver(signed(grant=site_grant()))
    assert caller.user_id is None
    assert caller.user.is_anonymous


def test_a_person_issued_grant_acts_for_the_person_who_enrolled_the_key(person: User) -> None:
    enrol(person)
    caller = deliver(signed(grant=[person_grant()]))
    assert (caller.kind, caller.user) == ("agent", person)


def test_a_delegated_grant_acts_for_the_person_of_its_root(person: User) -> None:
    chain = attenuate(site_grant(user=person, delegate=1), AGENT, subject=OTHER.public, scopes=["cart:read"])
    caller = deliver(signed(OTHER, chain))
    assert (caller.subject, caller.scopes, caller.user) == (OTHER.public, ("cart:read",), person)
    assert caller.rate_key == AGENT.public


def test_a_key_without_a_grant_is_an_agent_without_authority() -> None:
    caller = deliver(signed())
    assert (caller.kind, caller.subject, caller.chain, caller.scopes) == ("agent", AGENT.public, (), ())


def test_an_unsigned_request_is_nobodys() -> None:
    for headers in ({}, {"content-type": "application/json", "idempotency-key": "k" * 16}):
        assert (
            signatures.begin(method="GET", authority="shop.example", path="/", query="?", headers=headers)
            is None
        )


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_requests_without_a_body_are_signed_too(method: str) -> None:
    assert deliver(signed(grant=site_grant(), method=method, body=b"")).kind == "agent"


def test_the_idempotency_key_is_part_of_what_is_signed() -> None:
    request = signed(grant=site_grant(), idempotency_key="6f1d2c1e-0000-4000-8000-000000000001")
    assert code_and_reason(request.without("idempotency-key")) == ("signature_invalid", "coverage")
    changed = request.having(idempotency_key="6f1d2c1e-0000-4000-8000-000000000002")
    assert code_and_reason(changed) == ("signature_invalid", "signature")
    assert deliver(request).kind == "agent"


# -- the signature


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda request: request.without("signature"), "malformed"),
        (lambda request: request.without("signature-input"), "malformed"),
        (lambda request: request.having(signature="agent=:AAAA:"), "malformed"),
        (lambda request: request.having(signature_input="sig1=()"), "malformed"),
        (lambda request: request.without("content-digest"), "coverage"),
        (lambda request: request.without("agent-grant"), "coverage"),
        (lambda request: request.having(agent_key=AGENT.public), "coverage"),
        (lambda request: replace(request, body=BODY + b" "), "digest"),
        (lambda request: replace(request, body=b""), "digest"),
        (lambda request: replace(request, method="PUT"), "signature"),
        (lambda request: replace(request, path="/api/carts"), "signature"),
        (lambda request: replace(request, query="?"), "signature"),
        (lambda request: replace(request, authority="evil.example"), "signature"),
        (lambda request: request.having(content_type="text/plain"), "signature"),
    ],
)
def test_every_fault_of_a_signature_has_its_reason_and_writes_nothing(change: Any, reason: str) -> None:
    request = signed(grant=site_grant())
    assert code_and_reason(change(request)) == ("signature_invalid", reason)
    assert nothing_is_written()
    assert deliver(request).kind == "agent"


def test_a_body_without_its_digest_is_refused_although_the_signature_covers_none() -> None:
    bodiless = signed(grant=site_grant(), body=b"")
    assert code_and_reason(replace(bodiless, body=BODY)) == ("signature_invalid", "coverage")


def test_another_key_than_the_grants_subject_is_refused() -> None:
    assert code_and_reason(signed(OTHER, site_grant())) == ("signature_invalid", "key")


def test_an_agent_key_that_is_no_key_is_refused() -> None:
    request = signed().having(agent_key="ed25519:" + "A" * 43)
    assert code_and_reason(request) == ("signature_invalid", "key")


def test_what_was_compared_goes_to_the_log_and_not_to_the_caller() -> None:
    error = refusal(replace(signed(grant=site_grant()), authority="internal.example:8443"))
    assert "internal.example" in (error.debug or "")
    assert "internal.example" not in str(error.as_dict("rq_x"))


# -- time


def test_a_signature_that_is_over_is_refused_with_the_sites_time() -> None:
    with clock(NOON) as time:
        chain = site_grant()
        request = signed(grant=chain)
        time.forward(60)
        assert deliver(request).kind == "agent"
        request = signed(grant=chain)
        time.forward(61.5)
        error = refusal(request)
        assert (error.code, error.extra) == ("signature_expired", {"server_time": int(time.now)})


def test_a_signature_from_the_future_or_for_too_long_is_refused() -> None:
    with clock(NOON) as time:
        chain = site_grant()
        assert code_and_reason(signed(grant=chain, created=time.now + 61)) == ("signature_expired", "future")
        assert deliver(signed(grant=chain, created=time.now + 60)).kind == "agent"
        long_lived = (
            signed(grant=chain, lifetime=300)
            .headers["signature-input"]
            .replace(f"expires={int(time.now) + 300}", f"expires={int(time.now) + 301}")
        )
        request = signed(grant=chain, lifetime=300).having(signature_input=long_lived)
        assert code_and_reason(request) == ("signature_expired", "window")


def test_settings_narrow_how_long_a_signature_may_live(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "SIGNATURE_MAX_SECONDS": 30, "SIGNATURE_SKEW_SECONDS": 0}
    with clock(NOON) as time:
        chain = site_grant()
        assert code_and_reason(signed(grant=chain)) == ("signature_expired", "window")
        early = signed(grant=chain, lifetime=20, created=time.now + 2)
        assert code_and_reason(early) == ("signature_expired", "future")


def test_a_signature_that_ends_while_the_body_arrives_is_refused() -> None:
    with clock(NOON) as time:
        chain = site_grant()
        request = signed(grant=chain)
        pending = signatures.begin(
            method=request.method,
            authority=request.authority,
            path=request.path,
            query=request.query,
            headers=request.headers,
        )
        assert pending is not None
        time.forward(75)
        with pytest.raises(AuthenticationError) as caught:
            pending.finish(request.body, address=ADDRESS)
        assert caught.value.code == "signature_expired"
        assert nothing_is_written()


# -- replay and limits


def test_replayed_nonce_is_refused_and_takes_nothing_from_the_limit() -> None:
    request = signed(grant=site_grant())
    deliver(request)
    before = Bucket.objects.get(key=AGENT.public).tat
    for _ in range(3):
        assert refusal(request).code == "request_replayed"
    assert Bucket.objects.get(key=AGENT.public).tat == before


def test_one_nonce_of_two_keys_is_two_nonces() -> None:
    first, second = site_grant(), site_grant(OTHER)
    nonce = "A" * 22
    assert deliver(signed(AGENT, first, nonce=nonce)).kind == "agent"
    assert deliver(signed(OTHER, second, nonce=nonce)).kind == "agent"
    assert refusal(signed(OTHER, second, nonce=nonce)).code == "request_replayed"


def test_a_nonce_outlives_its_signature() -> None:
    with clock(NOON):
        deliver(signed(grant=site_grant()))
    assert Nonce.objects.get().expires_at.timestamp() == NOON + 60 + 60


def test_a_caller_over_its_limit_waits_as_told_and_its_nonce_stays_good(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "CALLER_RATE": (0.5, 2)}
    with clock(NOON) as time:
        chain = site_grant()
        deliver(signed(grant=chain))
        deliver(signed(grant=chain))
        request = signed(grant=chain)
        error = refusal(request)
        assert (error.code, error.retry_after) == ("rate_limited", 2)
        assert error.extra["limit"] == {"per_second": 0.5, "burst": 2}
        assert Nonce.objects.count() == 2
        time.forward(error.retry_after or 0)
        assert deliver(request).kind == "agent"


def test_handing_a_grant_on_makes_no_new_limit(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "CALLER_RATE": (0.1, 1)}
    chain = site_grant(delegate=1)
    deliver(signed(grant=chain))
    child = attenuate(chain, AGENT, subject=OTHER.public)
    assert refusal(signed(OTHER, child)).code == "rate_limited"


def test_fresh_keys_without_grants_share_the_limit_of_their_address(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "ANONYMOUS_RATE": (0.1, 2)}
    deliver(signed(AGENT))
    deliver(signed(OTHER))
    assert refusal(signed(PERSON)).code == "rate_limited"
    assert Nonce.objects.count() == 2
    assert deliver(signed(PERSON), address="198.51.100.1").kind == "agent"


def test_a_self_made_grant_fills_no_table() -> None:
    assert code_and_reason(signed(grant=[person_grant(OTHER)])) == ("grant_invalid", "issuer_untrusted")
    assert nothing_is_written()
    assert not Grant.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("table", ["agentweb_revocation", "agentweb_bucket", "agentweb_nonce"])
@pytest.mark.parametrize("form", ["chain", "id", "key"])
def test_a_failing_store_refuses_and_accepts_nothing(table: str, form: str) -> None:
    chain = site_grant()
    request = signed(grant={"chain": chain, "id": site_id(chain), "key": None}[form])
    with connection.execute_wrapper(failing_on(table)):
        error = refusal(request)
    assert (error.code, error.status, error.retry_after) == ("unavailable", 503, 1)
    assert "disk" not in str(error.as_dict())
    assert nothing_is_written()
    assert deliver(request).kind == "agent"


@pytest.mark.django_db(transaction=True)
def test_a_failing_store_refuses_an_id_before_the_body_is_read() -> None:
    request = signed(grant=site_id(site_grant()))
    with connection.execute_wrapper(failing_on("agentweb_grant")):
        assert refusal(request).code == "unavailable"


def failing_on(table: str) -> Any:
    def execute_or_fail(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if table in sql:
            raise OperationalError("the disk is gone")
        return execute(sql, params, many, context)

    return execute_or_fail


def site_id(chain: list[dict[str, Any]]) -> str:
    return Grant.objects.get(subject=chain[-1]["subject"]).pk


@pytest.mark.django_db(transaction=True)
def test_the_nonce_is_committed_before_the_work_and_never_inside_it() -> None:
    request = signed(grant=site_grant())
    with transaction.atomic(), pytest.raises(RuntimeError):
        deliver(request)
    assert deliver(request).kind == "agent"


# -- the grant


@pytest.mark.parametrize("header", ["", "gr_short", "v1.", "v1.AAAA", "v2.e30", "v1." + "A" * 8_190])
def test_an_agent_grant_header_that_is_none_is_malformed(header: str) -> None:
    request = signed().without("agent-key").having(agent_grant=header)
    assert code_and_reason(request) == ("grant_invalid", "malformed")


def test_an_unknown_grant_id_is_unknown() -> None:
    assert code_and_reason(signed(grant="gr_" + "A" * 22)) == ("grant_invalid", "unknown")


def test_a_known_grant_id_stands_for_the_whole_chain(person: User) -> None:
    chain = site_grant(user=person)
    caller = deliver(signed(grant=site_id(chain)))
    assert [grant.document for grant in caller.chain] == chain
    assert caller.user == person


def test_a_person_issued_chain_is_remembered_at_first_sight(person: User) -> None:
    enrol(person)
    mandate = MandateTerms("USD", 5_000, 20_000)
    chain = attenuate(
        [person_grant(delegate=1, mandate=mandate)],
        AGENT,
        subject=OTHER.public,
        mandate=mandate,
        one_time=True,
    )
    caller = deliver(signed(OTHER, chain))
    leaf, root = caller.chain[-1].id, caller.chain[0].id
    assert [
        (row.pk, row.parent_id, row.root_id, row.user) for row in Grant.objects.order_by("parent_id")
    ] == [
        (root, "", root, person),
        (leaf, root, root, person),
    ]
    assert {(row.pk, row.currency, row.per_tx, row.total, row.max_uses) for row in Mandate.objects.all()} == {
        (root, "USD", 5_000, 20_000, None),
        (leaf, "USD", 5_000, 20_000, 1),
    }
    assert deliver(signed(OTHER, leaf)).chain == caller.chain
    assert deliver(signed(AGENT, root)).chain == caller.chain[:1]


def test_a_grant_of_a_deleted_person_is_unknown(person: User) -> None:
    chain = site_grant(user=person)
    person.delete()
    assert code_and_reason(signed(grant=chain)) == ("grant_invalid", "unknown")


def test_a_forged_signature_on_a_grant_is_refused(person: User) -> None:
    enrol(person)
    document = person_grant()
    forged = {**document, "scopes": ["*"]}
    assert code_and_reason(signed(grant=[forged])) == ("grant_invalid", "signature")


def test_an_untrusted_issuer_is_told_before_a_broken_link(person: User) -> None:
    stranger = person_grant(OTHER, delegate=1)
    unlinked = person_grant(AGENT, subject=AGENT.public, parent="gr_" + "A" * 22)
    assert code_and_reason(signed(grant=[stranger, unlinked])) == ("grant_invalid", "issuer_untrusted")
    enrol(person, OTHER)
    assert code_and_reason(signed(grant=[stranger, unlinked])) == ("grant_invalid", "chain")


def test_a_root_with_a_parent_breaks_the_chain(person: User) -> None:
    enrol(person)
    assert code_and_reason(signed(grant=[person_grant(parent="gr_" + "A" * 22)])) == (
        "grant_invalid",
        "chain",
    )


def test_a_child_that_gives_more_is_not_narrower(person: User) -> None:
    enrol(person)
    root = person_grant(delegate=1, scopes=["cart:read"])
    narrow = attenuate([root], AGENT, subject=OTHER.public)[1]
    wide = person_grant(AGENT, subject=OTHER.public, scopes=["cart:*"], parent=narrow["parent"])
    assert code_and_reason(signed(OTHER, [root, wide])) == ("grant_invalid", "not_narrower")


def test_a_grant_for_another_site_is_refused(person: User) -> None:
    enrol(person)
    error = refusal(signed(grant=[person_grant(audience="other.example")]))
    assert (error.code, error.status, error.extra["audience"]) == ("grant_wrong_site", 403, "other.example")


def test_a_grant_counts_from_not_before_until_just_before_expires(person: User) -> None:
    enrol(person)
    with clock(NOON) as time:
        chain = [person_grant(not_before=1_790_000_100, expires=1_790_000_200)]
        error = refusal(signed(grant=chain))
        assert (error.code, error.extra["not_before"]) == ("grant_not_yet_valid", 1_790_000_100)
        time.forward(100)
        grant_id = deliver(signed(grant=chain)).chain[0].id
        time.forward(99)
        assert deliver(signed(grant=chain)).kind == "agent"
        time.forward(1)
        error = refusal(signed(grant=chain))
        assert (error.code, error.extra) == ("grant_expired", {"grant": grant_id, "expires": 1_790_000_200})


def test_an_expired_parent_ends_its_children(person: User) -> None:
    enrol(person)
    with clock(NOON) as time:
        chain = attenuate([person_grant(delegate=1, expires=1_790_000_050)], AGENT, subject=OTHER.public)
        time.forward(50)
        assert refusal(signed(OTHER, chain)).code == "grant_expired"


def test_the_setting_bounds_a_grants_life_whoever_issued_it(person: User, settings: Any) -> None:
    enrol(person)
    chain = [person_grant(expires=person_grant()["not_before"] + 2 * 86_400)]
    settings.AGENTWEB = {**settings.AGENTWEB, "GRANT_MAX_DAYS": 1}
    assert code_and_reason(signed(grant=chain)) == ("grant_invalid", "malformed")


def test_a_sessions_grant_cannot_be_used_with_a_signature() -> None:
    chain = site_grant_for("session:abcdefghijklmnop")
    assert code_and_reason(signed(grant=chain)) == ("grant_invalid", "malformed")
    assert code_and_reason(signed(grant=Grant.objects.get().pk)) == ("grant_invalid", "wrong_agent")
    assert nothing_is_written()


def site_grant_for(subject: str) -> list[dict[str, Any]]:
    site_grant()
    Grant.objects.all().delete()
    issued = grants.issue(subject=subject, scopes=["cart:*"], expires_in=60, site="shop.example")
    return [grant.document for grant in issued]


# -- revocation


def test_a_revoked_grant_is_refused_at_the_very_next_request() -> None:
    chain = site_grant()
    grant_id = deliver(signed(grant=chain)).chain[0].id
    grants.revoke(grant_id)
    for request in (signed(grant=chain), signed(grant=grant_id)):
        error = refusal(request)
        assert (error.code, error.status, error.retry_after) == ("grant_revoked", 401, None)


@pytest.mark.parametrize("whose", ["root", "leaf", "issuer", "delegate", "agent"])
def test_one_revoked_member_or_key_ends_the_whole_chain(whose: str, person: User) -> None:
    enrol(person)
    chain = attenuate([person_grant(delegate=1)], AGENT, subject=OTHER.public)
    caller = deliver(signed(OTHER, chain))
    grants.revoke(
        {
            "root": caller.chain[0].id,
            "leaf": caller.chain[1].id,
            "issuer": PERSON.public,
            "delegate": AGENT.public,
            "agent": OTHER.public,
        }[whose]
    )
    assert refusal(signed(OTHER, chain)).code == "grant_revoked"


def test_a_grant_revoked_before_it_was_ever_seen_stays_refused(person: User) -> None:
    enrol(person)
    document = person_grant()
    grants.revoke(grants.parse_grant(document).id)
    assert refusal(signed(grant=[document])).code == "grant_revoked"
    assert not Grant.objects.exists()


def test_a_principal_key_closed_on_the_account_ends_its_grants(person: User) -> None:
    row = enrol(person)
    PrincipalKey.objects.filter(pk=row.pk).update(revoked_at=person.date_joined)
    assert refusal(signed(grant=[person_grant()])).code == "grant_revoked"


@pytest.mark.parametrize("issuer", ["site", "person"])
def test_a_deactivated_persons_grants_are_refused_until_they_are_active_again(
    issuer: str, person: User
) -> None:
    enrol(person)
    chain = site_grant(user=person) if issuer == "site" else [person_grant()]
    deliver(signed(grant=chain))
    User.objects.filter(pk=person.pk).update(is_active=False)
    assert refusal(signed(grant=chain)).code == "grant_revoked"
    User.objects.filter(pk=person.pk).update(is_active=True)
    assert deliver(signed(grant=chain)).user == person


def test_a_revoked_key_cannot_call_without_a_grant_either() -> None:
    grants.revoke(AGENT.public)
    assert refusal(signed()).code == "grant_revoked"
    assert nothing_is_written()


def test_grants_of_a_retired_site_key_still_count_and_of_a_revoked_one_do_not() -> None:
    chain = site_grant()
    old = site_keys.active_key()
    site_keys.rotate()
    assert deliver(signed(grant=chain)).kind == "agent"
    grants.revoke(old.public)
    assert refusal(signed(grant=chain)).code == "grant_revoked"


# -- what a call costs


def statements(request: Request) -> list[str]:
    with CaptureQueriesContext(connection) as captured:
        deliver(request)
    queries = [query["sql"] for query in captured.captured_queries]
    return [sql for sql in queries if not sql.startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))]


def test_a_signed_call_takes_three_statements_and_a_short_id_one_more(person: User) -> None:
    chain = site_grant(user=person)
    deliver(signed(grant=chain))
    standing, limit, nonce = statements(signed(grant=chain))
    assert standing.lstrip("(").startswith("SELECT")
    assert limit.startswith('UPDATE "agentweb_bucket"')
    assert nonce.startswith('INSERT INTO "agentweb_nonce"')
    assert len(statements(signed(grant=site_id(chain)))) == 4


def test_the_number_of_statements_does_not_grow_with_the_chain(person: User) -> None:
    enrol(person)
    chain = attenuate([person_grant(delegate=2)], AGENT, subject=OTHER.public, delegate=1)
    chain = attenuate(chain, OTHER, subject=PERSON.public)
    deliver(signed(PERSON, chain))
    assert len(statements(signed(PERSON, chain))) == 3


def test_the_use_of_a_grant_is_written_once_a_minute() -> None:
    with clock(NOON) as time:
        chain = site_grant()
        assert any("last_used_at" in sql for sql in statements(signed(grant=chain))[1:])
        first = Grant.objects.get().last_used_at
        time.forward(59)
        assert len(statements(signed(grant=chain))) == 3
        assert Grant.objects.get().last_used_at == first
        time.forward(1)
        assert len(statements(signed(grant=chain))) == 4
        assert Grant.objects.get().last_used_at > first
