"""Taking authority back over HTTP: who may, what they are told, and the list that everybody may read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse

from agentweb.access import principals, revocation_requests, sessions, site_keys
from agentweb.access.models import Grant, Mandate, PrincipalKey, Revocation
from agentweb.testing import TestAgent, mandate
from agentweb.wire.clock import now, now_datetime
from agentweb.wire.encoding import random_id
from agentweb.wire.grants import attenuate, encode_chain, new_grant, parse_grant
from agentweb.wire.revocations import verify_head, verify_list
from agentweb.wire.signing import SigningKey
from tests.support.web import send

pytestmark = pytest.mark.usefixtures("shop", "many_callers")

REVOCATIONS = "/agent-actions/revocations"
SITE = "shop.example"
PUT = {"product_id": "tea", "quantity": 1}
SCOPES = ["cart:write"]


@pytest.fixture(autouse=True)
def site_key(db: None) -> None:
    site_keys.ensure_active_key()


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann")


def enrolled(user: User) -> SigningKey:
    key = SigningKey.generate()
    principals.enrol(user, key.public)
    return key


def holder(chain: list[dict[str, Any]], key: SigningKey) -> TestAgent:
    """An agent that signs under this chain."""
    agent = TestAgent(key=key)
    agent.grant_header = encode_chain(chain)
    return agent


def person_grant(person: SigningKey, agent: SigningKey, **more: Any) -> dict[str, Any]:
    begins = int(now())
    return new_grant(
        issuer=person,
        subject=agent.public,
        audience=SITE,
        scopes=SCOPES,
        not_before=begins,
        expires=begins + 600,
        **more,
    )


def id_of(document: dict[str, Any]) -> str:
    return parse_grant(document).id


def revoke(agent: TestAgent, **body: Any) -> HttpResponse:
    return agent.request("POST", REVOCATIONS, body)


def error_of(answer: HttpResponse) -> tuple[int, str]:
    return answer.status_code, json.loads(answer.content)["error"]["code"]


def assert_done(answer: HttpResponse) -> None:
    assert (answer.status_code, json.loads(answer.content)) == (200, {"revoked": True})


def works(agent: TestAgent) -> bool:
    answer = agent.post("/agent/add_to_cart", PUT)
    if answer.status_code == 200:
        return True
    assert error_of(answer) == (401, "grant_revoked")
    return False


class Family:
    """A grant of a person's own key, handed on twice; everybody has called once."""

    def __init__(self, user: User) -> None:
        self.person = enrolled(user)
        keys = [SigningKey.generate() for _ in range(3)]
        chain = [person_grant(self.person, keys[0], delegate=2)]
        self.agents = [holder(chain, keys[0])]
        self.ids = [id_of(chain[-1])]
        for at, key in enumerate(keys[1:]):
            chain = attenuate(chain, keys[at], subject=key.public, delegate=1 - at)
            self.agents.append(holder(chain, key))
            self.ids.append(id_of(chain[-1]))
        assert all(works(agent) for agent in self.agents)


@pytest.mark.requirement("AA-2.28")
@pytest.mark.parametrize("revoked", [0, 1, 2])
def test_the_person_revokes_any_grant_of_the_chain_and_all_below_it(ann: User, revoked: int) -> None:
    family = Family(ann)
    assert_done(revoke(TestAgent(key=family.person), grant=family.ids[revoked], reason="lost"))
    assert [works(agent) for agent in family.agents] == [at < revoked for at in range(3)]
    row = Revocation.objects.get()
    assert (row.ident, row.reason, row.by) == (family.ids[revoked], "lost", "")
    assert Grant.objects.exclude(revoked_at=None).count() == 3 - revoked


@pytest.mark.parametrize(
    ("who", "may"), [(0, [True, True, True]), (1, [False, True, True]), (2, [False, False, True])]
)
def test_an_agent_revokes_its_own_grant_and_what_it_handed_on(ann: User, who: int, may: list[bool]) -> None:
    family = Family(ann)
    bare = TestAgent(key=family.agents[who].key)
    for ident, is_allowed in zip(family.ids, may, strict=True):
        if not is_allowed:
            assert error_of(revoke(bare, grant=ident)) == (403, "not_allowed")
            assert error_of(revoke(family.agents[who], grant=ident)) == (403, "not_allowed")
    assert not Revocation.objects.exists()
    for ident, is_allowed in reversed(list(zip(family.ids, may, strict=True))):
        if is_allowed:
            assert_done(revoke(bare, grant=ident))
            assert_done(revoke(bare, grant=ident))
    assert [works(agent) for agent in family.agents] == [not is_allowed for is_allowed in may]


def test_a_grant_can_be_given_up_under_itself(ann: User) -> None:
    agent = TestAgent(scopes=SCOPES, user=ann)
    assert_done(revoke(agent, grant=Grant.objects.get().pk))
    assert not works(agent)
    assert error_of(revoke(agent, grant=Grant.objects.get().pk)) == (401, "grant_revoked")


def test_strangers_revoke_nothing_that_is_known(ann: User) -> None:
    agent = TestAgent(scopes=SCOPES, user=ann)
    ident = Grant.objects.get().pk
    other_person = TestAgent(key=enrolled(User.objects.create_user("eve")))
    own_person = TestAgent(key=enrolled(ann))  # enrolled, but not the issuer: the site is
    for stranger in (TestAgent(), TestAgent(scopes=SCOPES), other_person, own_person):
        assert error_of(revoke(stranger, grant=ident)) == (403, "not_allowed")
    assert error_of(send("POST", REVOCATIONS, json.dumps({"grant": ident}).encode())) == (
        401,
        "grant_required",
    )
    assert works(agent)
    assert not Revocation.objects.exists()


def test_a_session_gives_up_its_own_grant_and_no_other(ann: User) -> None:
    session, token = sessions.create(user=ann, scopes=SCOPES, expires_in=600, site=SITE)
    other, _ = sessions.create(user=ann, scopes=SCOPES, expires_in=600, site=SITE)

    def ask(**body: str) -> HttpResponse:
        return send("POST", REVOCATIONS, json.dumps(body).encode(), Authorization=f"Bearer {token}")

    assert error_of(ask(grant=other.grant_id)) == (403, "not_allowed")
    assert error_of(ask(key=enrolled(ann).public)) == (403, "not_allowed")
    assert_done(ask(grant=random_id("gr_")))
    assert not Revocation.objects.exists()
    assert_done(ask(grant=session.grant_id))
    assert error_of(ask(grant=session.grant_id)) == (401, "session_revoked")


# -- grants that the site has not seen


def test_a_person_revokes_a_grant_before_anybody_shows_it(ann: User) -> None:
    person, key = enrolled(ann), SigningKey.generate()
    grant, other = (person_grant(person, key, mandate=mandate("USD:1.00/5.00")) for _ in range(2))
    assert_done(revoke(TestAgent(key=person), grant=id_of(grant)))
    assert_done(revoke(TestAgent(key=person), grant=id_of(grant)))
    assert not works(holder([grant], key))
    assert not Mandate.objects.exists()
    assert works(holder([other], key))


def test_a_grant_that_its_issuer_revoked_unseen_is_listed_once_it_is_known(ann: User) -> None:
    person, key = enrolled(ann), SigningKey.generate()
    grant = person_grant(person, key)
    eve = enrolled(User.objects.create_user("eve"))
    assert_done(revoke(TestAgent(key=eve), grant=id_of(grant)))
    assert_done(revoke(TestAgent(key=person), grant=id_of(grant)))
    assert not Revocation.objects.exclude(seq=None).exists()
    for _ in range(2):
        assert not works(holder([grant], key))
        listed = Revocation.objects.get()
        assert (listed.ident, listed.by, listed.seq) == (id_of(grant), "", 1)
        assert listed.expires_at is not None


def test_whoever_handed_a_grant_on_revokes_it_before_anybody_shows_it(ann: User) -> None:
    person, first, second = enrolled(ann), SigningKey.generate(), SigningKey.generate()
    root = [person_grant(person, first, delegate=1)]
    child = attenuate(root, first, subject=second.public)
    assert_done(revoke(holder(root, first), grant=id_of(child[-1])))
    assert not works(holder(child, second))
    assert works(holder(root, first))


def test_whoever_overheard_an_id_cannot_revoke_it_by_being_first(ann: User) -> None:
    person, key = enrolled(ann), SigningKey.generate()
    grant = person_grant(person, key)
    eve = enrolled(User.objects.create_user("eve"))
    assert_done(revoke(TestAgent(key=eve), grant=id_of(grant)))
    assert_done(revoke(TestAgent(scopes=SCOPES), grant=id_of(grant)))
    assert works(holder([grant], key))
    # Neither does their word stand in the way of hers.
    assert_done(revoke(TestAgent(key=person), grant=id_of(grant)))
    assert not works(holder([grant], key))


def test_her_word_counts_also_after_theirs_while_nobody_has_seen_it(ann: User) -> None:
    person, key = enrolled(ann), SigningKey.generate()
    grant = person_grant(person, key)
    for each in (enrolled(User.objects.create_user("eve")), person):
        assert_done(revoke(TestAgent(key=each), grant=id_of(grant)))
    assert not works(holder([grant], key))


def test_a_holder_cannot_revoke_what_stands_above_it_by_being_first(ann: User) -> None:
    person, first, second = enrolled(ann), SigningKey.generate(), SigningKey.generate()
    root = [person_grant(person, first, delegate=1)]
    child = attenuate(root, first, subject=second.public)
    Revocation.objects.create(ident=id_of(root[0]), by=second.public, at=now_datetime())
    assert works(holder(child, second))


def test_a_key_that_is_nobody_here_leaves_nothing_behind(ann: User) -> None:
    answer = revoke(TestAgent(), grant=random_id("gr_"))
    assert error_of(answer) == (401, "grant_required")
    assert not Revocation.objects.exists()
    # What is its own it can give up: signed under, it is known.
    person, key = enrolled(ann), SigningKey.generate()
    grant = person_grant(person, key)
    assert_done(revoke(holder([grant], key), grant=id_of(grant)))
    assert not works(holder([grant], key))


def test_unseen_ids_are_taken_at_a_bounded_rate(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(revocation_requests, "CLAIM_RATE", (0.001, 3))
    person = TestAgent(key=enrolled(ann))
    codes = [revoke(person, grant=random_id("gr_")).status_code for _ in range(5)]
    assert codes == [200, 200, 200, 429, 429]
    assert Revocation.objects.count() == 3


def test_what_nobody_has_seen_is_not_listed(ann: User) -> None:
    assert_done(revoke(TestAgent(key=enrolled(ann)), grant=random_id("gr_")))
    assert json.loads(send("GET", REVOCATIONS).content)["items"] == []


# -- keys


def test_a_person_revokes_a_key_with_itself_or_with_another_of_theirs(ann: User) -> None:
    family = Family(ann)
    other = enrolled(ann)
    assert_done(revoke(TestAgent(key=other), key=family.person.public, reason="lost laptop"))
    assert not any(works(agent) for agent in family.agents)
    assert_done(revoke(TestAgent(key=other), key=family.person.public))
    assert_done(revoke(TestAgent(key=other), key=other.public))
    assert not PrincipalKey.objects.filter(revoked_at=None).exists()
    assert error_of(revoke(TestAgent(key=other), key=other.public)) == (401, "grant_revoked")


def test_nobody_revokes_the_key_of_somebody_else(ann: User) -> None:
    family = Family(ann)
    eve = TestAgent(key=enrolled(User.objects.create_user("eve")))
    for stranger in (eve, TestAgent(), family.agents[0]):
        for key in (family.person.public, SigningKey.generate().public, site_keys.active_key().public):
            assert error_of(revoke(stranger, key=key)) == (403, "not_allowed")
    assert not Revocation.objects.exists()
    # An agent's key is no person's: it gives up its grants, one by one.
    assert error_of(revoke(TestAgent(key=family.agents[0].key), key=family.agents[0].key.public)) == (
        403,
        "not_allowed",
    )


# -- the request, and the list


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ({}, ["body"]),
        ([], ["body"]),
        ({"grant": "gr_" + "A" * 22, "key": "x"}, ["body", "key"]),
        ({"grant": "gr_short", "more": 1, "reason": 5}, ["more", "grant", "reason"]),
        ({"grant": 5}, ["grant"]),
        ({"grant": "session:ss_x"}, ["grant"]),
        ({"key": "ed25519:" + "A" * 43}, ["key"]),
        ({"key": {"x": 1}}, ["key"]),
        ({"grant": "gr_" + "A" * 22, "reason": "r" * 201}, ["reason"]),
        ({"reason": "none"}, ["body"]),
    ],
)
def test_a_bad_request_is_told_everything_that_is_wrong(body: Any, fields: list[str]) -> None:
    answer = TestAgent(scopes=SCOPES).request("POST", REVOCATIONS, body)
    error = json.loads(answer.content)["error"]
    assert (answer.status_code, error["code"]) == (422, "invalid_input")
    assert [problem["field"] for problem in error["problems"]] == fields
    assert {problem["in"] for problem in error["problems"]} == {"request"}


def test_the_list_is_for_everyone_and_says_no_more_than_it_must(ann: User) -> None:
    family = Family(ann)
    person = TestAgent(key=family.person)
    for ident in reversed(family.ids):
        assert_done(revoke(person, grant=ident, reason="a private matter"))
    answer = send("GET", f"{REVOCATIONS}?limit=2")
    first = json.loads(answer.content)
    assert answer["Cache-Control"] == "no-store"
    assert b"private" not in answer.content
    assert [set(item) for item in first["items"]] == [{"seq", "id", "at", "prev"}] * 2
    rest = json.loads(send("GET", f"{REVOCATIONS}/?after={first['next_cursor']}").content)
    assert rest["next_cursor"] is None
    items = first["items"] + rest["items"]
    assert [item["id"] for item in items] == family.ids[::-1]
    head = json.loads(send("GET", f"{REVOCATIONS}/head").content)
    manifest = json.loads(send("GET", "/.well-known/agent-actions.json").content)
    assert manifest["endpoints"]["revocations"] == f"https://{SITE}{REVOCATIONS}"
    assert verify_head(head, manifest["keys"]) is None
    assert verify_list(items, head) is None


@pytest.mark.parametrize(
    ("query", "code", "field"),
    [
        ("limit=0", "invalid_parameter", "limit"),
        ("limit=501", "invalid_parameter", "limit"),
        ("after=x", "invalid_cursor", "after"),
        ("after=1&after=2", "invalid_cursor", "after"),
        ("after=9223372036854775808", "invalid_cursor", "after"),
    ],
)
def test_a_bad_page_is_refused(query: str, code: str, field: str) -> None:
    answer = send("GET", f"{REVOCATIONS}?{query}")
    assert error_of(answer) == (400, code)
    assert json.loads(answer.content)["error"]["field"] == field


def test_a_page_behind_the_end_is_empty() -> None:
    answer = send("GET", f"{REVOCATIONS}?after=9223372036854775807")
    assert json.loads(answer.content) == {"items": [], "next_cursor": None}


def test_other_methods_are_told_which_there_are() -> None:
    answer = send("DELETE", REVOCATIONS)
    assert error_of(answer) == (405, "method_not_allowed")
    assert answer["Allow"] == "GET, POST, HEAD, OPTIONS"
