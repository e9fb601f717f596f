import json

import pytest
from django.contrib.auth.models import User
from django.test import override_settings

from agentweb.access import site_keys
from agentweb.agent_actions import published
from agentweb.catalog.registry import registry
from agentweb.catalog.words import action
from agentweb.http.kept import MAX_KEPT
from agentweb.testing import TestAgent, clock
from tests.support.web import send

pytestmark = pytest.mark.usefixtures("shop")

MANIFEST = "/.well-known/agent-actions.json"


def names(answer):
    return [entry["name"] for entry in json.loads(answer.content)["actions"]]


@pytest.mark.requirement("AA-1.1")
def test_the_manifest_is_json_at_its_well_known_address_with_and_without_a_slash():
    answer = send("GET", MANIFEST)
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json; charset=utf-8")
    assert send("GET", f"{MANIFEST}/").content == answer.content


def test_a_warm_manifest_costs_no_query(django_assert_num_queries):
    first = send("GET", MANIFEST)
    with django_assert_num_queries(0):
        assert send("GET", MANIFEST).content == first.content
        assert send("HEAD", MANIFEST).status_code == 200
        assert send("GET", MANIFEST, If_None_Match=first["ETag"]).status_code == 304
        assert send("OPTIONS", MANIFEST).status_code == 204


@pytest.mark.requirement("AA-6.1")
def test_a_new_declaration_is_listed_at_once_with_another_entity_tag():
    before = send("GET", MANIFEST)
    action("brand_new", description="Words.", input=None)(lambda inp, ctx: None)
    after = send("GET", MANIFEST)
    assert "brand_new" in names(after)
    assert "brand_new" not in names(before)
    assert after["ETag"] != before["ETag"]
    assert send("GET", "/agent/brand_new").status_code == 200


@pytest.mark.requirement("AA-2.7")
def test_every_listed_action_answers_at_its_method_and_path():
    for entry in json.loads(send("GET", MANIFEST).content)["actions"]:
        answer = send(entry["method"], entry["path"].replace("{id}", "1"), b"")
        # An action may find nothing itself, which is 404 not_found.
        assert b"action_not_found" not in answer.content, entry
        assert answer.status_code != 405, entry


@pytest.mark.requirement("AA-2.4")
def test_what_a_guard_hides_is_listed_for_those_who_may_see_it_and_kept_by_no_shared_cache():
    public = send("GET", MANIFEST)
    assert b"staff_report" not in public.content
    staff = TestAgent(scopes=["cart:*"], user=User.objects.create(username="ada", is_staff=True))
    visitor = TestAgent(scopes=["cart:*"], user=User.objects.create(username="eve"))
    seen = staff.get(MANIFEST)
    assert names(seen) == sorted([*names(public), "staff_report"])
    assert names(visitor.get(MANIFEST)) == names(public)
    assert seen["Cache-Control"] == "no-store"
    assert public["Vary"] == seen["Vary"] == "Agent-Grant, Agent-Key, Authorization"


def test_a_bad_signature_is_not_answered_with_the_public_manifest():
    assert send("GET", MANIFEST, Signature="nonsense").status_code == 401


def test_the_site_s_keys_are_listed_and_a_new_one_appears_in_time():
    with clock() as moving:
        assert "keys" not in json.loads(send("GET", MANIFEST).content)
        first = site_keys.ensure_active_key()
        moving.forward(59)
        assert "keys" not in json.loads(send("GET", MANIFEST).content)
        moving.forward(1)
        [jwk] = json.loads(send("GET", MANIFEST).content)["keys"]
        assert jwk["kid"] == first.thumbprint
        site_keys.rotate()
        moving.forward(60)
        active, retired = json.loads(send("GET", MANIFEST).content)["keys"]
        assert (retired["kid"], "not_after" in active, "not_after" in retired) == (
            first.thumbprint,
            False,
            True,
        )


@pytest.mark.requirement("AA-2.25", "AA-2.26", "AA-2.28")
def test_endpoints_are_absolute_and_answer():
    endpoints = json.loads(send("GET", MANIFEST).content)["endpoints"]
    assert (
        endpoints.items()
        >= {
            "receipts": "https://shop.example/agent-actions/receipts",
            "refunds": "https://shop.example/agent-actions/refunds",
            "revocations": "https://shop.example/agent-actions/revocations",
        }.items()
    )
    assert send("GET", endpoints["receipts"].removeprefix("https://shop.example")).status_code == 401
    assert send("POST", endpoints["refunds"].removeprefix("https://shop.example")).status_code == 401
    assert send("GET", endpoints["revocations"].removeprefix("https://shop.example")).status_code == 200


def test_another_origin_is_another_document():
    first = send("GET", MANIFEST)
    with override_settings(AGENTWEB={"ORIGIN": "https://other.example:8443"}):
        other = json.loads(send("GET", MANIFEST).content)
    assert other["site"] == "other.example:8443"
    assert other["endpoints"]["receipts"].startswith("https://other.example:8443/")
    assert send("GET", MANIFEST).content == first.content


def test_the_cache_keeps_a_bounded_number_of_documents():
    for number in range(MAX_KEPT + 5):
        with override_settings(AGENTWEB={"ORIGIN": f"https://s{number}.example"}):
            send("GET", MANIFEST)
    assert len(published.documents) == MAX_KEPT
    assert registry.version > 0
