"""``agentweb.testing`` in the hands of a site's author: it works on any site, and says what is missing."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import Client

from agentweb.access.models import Grant
from agentweb.access.models import Mandate as MandateRow
from agentweb.agent_actions import published
from agentweb.testing import TestAgent, mandate
from agentweb.wire.grants import Mandate
from agentweb.wire.signing import SigningKey
from tests.site.models import Note

pytestmark = pytest.mark.django_db

SPENDING = "USD:50.00/200.00"


@pytest.fixture(autouse=True)
def forgotten() -> None:
    published.forget()  # what was published under the origin of another test


@pytest.mark.parametrize(
    "origin",
    ["https://shop.example", "https://another.example:8443/", "http://127.0.0.1:8000", "https://testserver"],
)
def test_the_agent_is_at_home_on_the_site_under_test(settings: Any, origin: str) -> None:
    settings.AGENTWEB = {"ORIGIN": origin}
    agent = TestAgent(scopes=["notes:write"])
    assert agent.origin == origin.rstrip("/")
    answer = agent.post("/agent/write_note", {"text": "hello"})
    assert (answer.status_code, Note.objects.get().text) == (200, "hello")


def test_a_site_that_sends_everybody_to_https_is_called_over_https(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert TestAgent(scopes=["notes:write"]).post("/agent/write_note", {"text": "x"}).status_code == 200


def test_without_an_origin_the_error_says_what_to_set(settings: Any) -> None:
    settings.AGENTWEB = {}
    with pytest.raises(ImproperlyConfigured, match=r'AGENTWEB\["ORIGIN"\].*override_settings'):
        TestAgent(scopes=["notes:write"])
    assert not Grant.objects.exists()


def test_under_debug_the_test_clients_own_host_will_do(settings: Any) -> None:
    settings.AGENTWEB, settings.DEBUG = {}, True
    assert TestAgent(scopes=["notes:write"]).post("/agent/write_note", {"text": "x"}).status_code == 200


def test_an_origin_of_another_site_is_refused_by_this_one() -> None:
    agent = TestAgent(scopes=["notes:write"], origin="https://other.example")
    assert agent.post("/agent/write_note", {"text": "x"}).status_code in {401, 403}
    assert not Note.objects.exists()
    with pytest.raises(ValueError, match="http"):
        TestAgent(origin="other.example")


@pytest.mark.parametrize("given", [SPENDING, Mandate("USD", 50_00, 200_00)])
@pytest.mark.parametrize("name", ["spending", "mandate"])
def test_a_mandate_goes_by_two_names_and_two_forms(name: str, given: Any) -> None:
    TestAgent(scopes=["shop:pay"], **{name: given})
    row = MandateRow.objects.get()
    assert (row.currency, row.per_tx, row.total) == ("USD", 50_00, 200_00)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"scopes": "notes:write"}, "scopes is a list"),
        ({"scopes": 5}, "scopes is a list"),
        ({"scopes": ["a"], "spending": SPENDING, "mandate": SPENDING}, "give one of them"),
        ({"spending": SPENDING}, "give scopes too"),
        ({"mandate": SPENDING}, "give scopes too"),
        ({"user": object()}, "give scopes too"),
        ({"one_time": True}, "give scopes too"),
        ({"scopes": ["a"], "mandate": 50}, "A mandate is a text"),
        ({"scopes": ["a"], "scope": "b"}, "knows no scope; of a grant it takes delegate, note, one_time"),
        ({"scopes": ["a"], "site": "b"}, "knows no site"),
        ({"key": "ed25519:abc"}, "key is a SigningKey"),
    ],
)
def test_arguments_that_make_no_sense_are_told(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        TestAgent(**arguments)
    assert not Grant.objects.exists()


@pytest.mark.parametrize("text", ["", "50", "USD", "USD:50.00", "USD:a/b", "XQX:1/2", "usd:1/2"])
def test_a_mandate_written_otherwise_is_told_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"USD:50\.00/200\.00"):
        mandate(text)


def test_without_scopes_the_agent_signs_with_its_key_alone() -> None:
    key = SigningKey.generate()
    agent = TestAgent(key=key, client=Client(enforce_csrf_checks=True))
    assert agent.key is key
    assert agent.get("/agent/echo?text=x").json() == {"text": "x"}
    assert agent.post("/agent/write_note", {"text": "x"}).status_code in {401, 403}


def test_options_of_the_grant_are_passed_on() -> None:
    TestAgent(scopes=["notes:*"], one_time=True, delegate=1, note="For the test")
    assert Grant.objects.count() == 1


def test_a_target_without_its_slash_is_told_and_not_sent() -> None:
    agent = TestAgent.__new__(TestAgent)
    with pytest.raises(ValueError, match="write '/agent/notes_list'"):
        agent.get("agent/notes_list")
