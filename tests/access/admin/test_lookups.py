"""What a query string can find out in the admin: what the lists show, and nothing behind it; never an error of ours."""

from __future__ import annotations

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentweb.access.models import Session, SiteKey
from agentweb.admin import PAGES
from agentweb.testing import TestAgent
from tests.support.examples import examples
from tests.support.staff import browser, page, staff, text_of

pytestmark = pytest.mark.django_db

MODELS = sorted(model._meta.model_name or "" for model in PAGES)
FIELDS = sorted({field.name for model in PAGES for field in model._meta.get_fields()} | {"pk"})
SUFFIXES = [
    "",
    "__exact",
    "__startswith",
    "__regex",
    "__isnull",
    "__year",
    "__in",
    "__gte",
    "__username",
    "__date__lt",
]
OTHERS = [
    "q",
    "o",
    "p",
    "e",
    "all",
    "person",
    "state",
    "before",
    "when",
    "result",
    "action_name",
    "_facets",
    "_to_field",
]
VALUES = [
    "",
    "0",
    "(((",
    "[",
    "\0",
    "999999999999",
    "9" * 40,
    "9" * 5_000,
    "-1",
    "x,y",
    "{}",
    "é\u202e",
    "1.2.-3",
    "True",
    "2026-02-30",
]


def viewer() -> User:
    return staff(*(f"view_{name}" for name in MODELS))


@pytest.mark.parametrize(
    ("model", "query"),
    [
        ("approval", {"input__startswith": "{"}),
        ("idempotencyrecord", {"body__contains": "a"}),
        ("session", {"token_digest__startswith": "0"}),
        ("sitekey", {"sealed__regex": "."}),
        ("grant", {"user__password__startswith": "p"}),
        ("grant", {"id__regex": "((("}),
        ("grant", {"expires_at__year": "999999999999"}),
    ],
)
def test_a_query_string_does_not_look_into_columns_that_no_filter_offers(
    model: str, query: dict[str, str]
) -> None:
    assert browser(viewer()).get(page(model), query).status_code == 400


@pytest.mark.parametrize("model", MODELS)
def test_no_list_lets_any_column_be_asked_for_but_those_of_its_filters(model: str) -> None:
    client = browser(viewer())
    more = {"agentrequests": {"protocol", "family"}, "refund": {"is_automatic"}}
    shown = {"state", "kind", *more.get(model, ())}
    for field in apps.get_model("agentweb", model)._meta.fields:
        for suffix in ("__startswith", "__gte", "__isnull"):
            assert client.get(page(model), {field.attname + suffix: "1"}).status_code == 400
        if field.name not in shown:
            assert client.get(page(model), {field.attname: "1"}).status_code == 400


def test_the_filters_still_filter(client: Client) -> None:
    ann, ben = User.objects.create_user("ann"), User.objects.create_user("ben")
    TestAgent(scopes=["cart:*"], user=ann)
    TestAgent(scopes=["cart:*"], user=ben)
    listed = client.get(page("grant"), {"person": ann.pk}).context["cl"].result_list
    assert {row.user for row in listed} == {ann}
    assert client.get(page("idempotencyrecord"), {"state__exact": "running"}).status_code == 200
    assert client.get(page("receipt"), {"kind__exact": "charge"}).status_code == 200


def test_a_list_names_nobody_who_has_no_row_in_it() -> None:
    ann = User.objects.create_user("ann-who-has-a-grant")
    ben = User.objects.create_user("ben-who-has-none")
    TestAgent(scopes=["cart:*"], user=ann)
    client = browser(staff("view_grant"))
    assert ann.username in text_of(client.get(page("grant"), {"person": ann.pk}))
    assert ben.username not in text_of(client.get(page("grant"), {"person": ben.pk}))


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    model=st.sampled_from(MODELS),
    query=st.dictionaries(
        st.sampled_from(OTHERS)
        | st.builds("{}{}".format, st.sampled_from(FIELDS), st.sampled_from(SUFFIXES)),
        st.sampled_from(VALUES) | st.text(max_size=20),
        min_size=1,
        max_size=3,
    ),
)
def test_no_query_string_makes_a_list_fail(
    client: Client, rows: None, model: str, query: dict[str, str]
) -> None:
    assert client.get(page(model), query).status_code < 500


@pytest.fixture
def rows(db: None) -> None:
    ann = User.objects.create_user("ann")
    TestAgent(scopes=["notes:write"], user=ann).post("/agent/write_note", {"text": "x"}, key="k" * 20)
    TestAgent.with_session(scopes=["notes:write"], user=ann)
    assert Session.objects.exists()
    assert SiteKey.objects.exists()


def test_a_person_with_nul_in_the_name_is_nobody(client: Client) -> None:
    client = browser(staff("issue_grant", name="issuer"))
    for form in ("grant", "session"):
        found = client.post(page(form, "add"), {"user": "\0", "intent": "i" * 20, "life": "3600"})
        assert found.status_code == 200
        assert "no such person" in text_of(found)
