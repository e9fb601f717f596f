"""The messenger in the admin: who may look, who may decide, and what nobody sees without being allowed to."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agentweb.aim import agents, log
from agentweb.aim.models import Agent, AgentKey, Contact, Event, Message
from agentweb.aim.sweep import sweep
from agentweb.testing import clock
from agentweb.wire.clock import now_datetime
from tests.aim.agents import befriend, code, person
from tests.aim.filling import agent, post
from tests.support.staff import boss, browser, page, staff, text_of

pytestmark = pytest.mark.django_db

NOON = 1_790_000_000.0
VIEWS = ("view_agent", "view_message", "view_logconsumer")


@pytest.fixture
def client() -> Client:
    return browser(boss())


@pytest.fixture
def clerk() -> Client:
    return browser(staff(*VIEWS))


def decide(client: Client, model: str, what: str, pk: Any, **sent: str) -> Any:
    return client.post(page(model, what, pk), sent, follow=True)


def test_agents_are_found_by_name_and_by_key(client: Client) -> None:
    ann, _bob = agent("ann"), agent("bob")
    key = AgentKey.objects.get(agent=ann).public
    for term in ("an", key):
        answer = client.get(page("agent"), {"q": term})
        assert [row.name for row in answer.context["cl"].result_list] == ["ann"], term
    assert [row.name for row in client.get(page("agent")).context["cl"].result_list] == ["bob", "ann"]


def test_an_agent_s_page_shows_address_keys_quotas_and_contacts(client: Client) -> None:
    ann, bob = agent("ann"), agent("bob")
    Contact.objects.create(owner=ann, other=bob, state="accepted", changed_at=now_datetime())
    post(bob, ann, 3)
    sweep()
    text = text_of(client.get(page("agent", "change", ann.pk)))
    assert "ann@shop.example" in text
    assert AgentKey.objects.get(agent=ann).public in text
    assert "30 messages at once, 5000 today, are left" in text
    assert "0 messages accepted, 3 received" in text
    assert "1 accepted, 0 blocked" in text


def test_an_agent_is_suspended_let_in_again_and_deleted_for_good_each_after_a_question(
    client: Client,
) -> None:
    ann, bob = agent("ann"), agent("bob")
    Contact.objects.create(owner=bob, other=ann, state="accepted", changed_at=now_datetime())
    log.begin()
    for what, status in (("suspend", "suspended"), ("resume", "active"), ("delete_for_good", "deleted")):
        assert client.get(page("agent", what, ann.pk)).status_code == 200
        ann.refresh_from_db()
        assert ann.status != status
        decide(client, "agent", what, ann.pk, reason="spam")
        ann.refresh_from_db()
        assert ann.status == status
    assert AgentKey.objects.get(agent=ann).until is not None
    assert list(Event.objects.values_list("type", flat=True)) == [log.AGENT_DELETED]
    said = [entry.get_change_message() for entry in LogEntry.objects.order_by("pk")]
    assert said == ["Suspended: spam", "Let in again: spam", "Deleted for good: spam"]


def test_what_does_not_fit_the_status_is_not_offered(client: Client) -> None:
    ann = agent("ann")
    agents.suspend(ann)
    answer = client.get(page("agent", "change", ann.pk))
    assert [str(label) for label, _url in answer.context["agentweb_buttons"]] == [
        "Let in again",
        "Delete for good",
    ]
    decide(client, "agent", "suspend", ann.pk)
    ann.refresh_from_db()
    assert ann.status == Agent.Status.SUSPENDED
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize(
    ("permission", "allowed"),
    [
        ("change_agent", {"suspend"}),
        ("delete_agent", {"delete_for_good"}),
        ("read_message", set()),
    ],
)
def test_each_decision_has_its_permission(permission: str, allowed: set[str]) -> None:
    ann = agent("ann")
    log.begin()
    ours = browser(staff(*VIEWS, permission))
    for what in ("suspend", "delete_for_good"):
        assert ours.get(page("agent", what, ann.pk)).status_code == (200 if what in allowed else 403)
    assert ours.get(page("message")).status_code == 200


def test_what_suspending_is_said_to_do_is_what_it_does(client: Client) -> None:
    ann, bob = person("ann"), person("bob")
    befriend(ann, bob)
    asked = text_of(client.get(page("agent", "suspend", ann.agent.pk)))
    assert "It can neither write nor read until it is let in again, and nobody can write to it" in asked
    ann.send(bob, "before")
    decide(client, "agent", "suspend", ann.agent.pk)
    assert code(bob.send(ann, "meanwhile")) == "recipient_not_accepting"
    assert len(bob.inbox()["items"]) == 1
    asked = text_of(client.get(page("agent", "resume", ann.agent.pk)))
    assert "others can write to it again" in asked
    decide(client, "agent", "resume", ann.agent.pk)
    assert code(bob.send(ann, "afterwards")) is None


@pytest.mark.parametrize("model", ["agent", "message"])
@pytest.mark.parametrize(
    "query",
    [
        *(
            f"{name}={value}"
            for name in ("agent", "before")
            for value in ("9" * 20, "-1", "²", "a", "9" * 5000)
        ),
        "state=zz",
        "p=99999",
        "q=%00",
    ],
    ids=lambda query: query[:30],
)
def test_no_query_string_makes_an_error(client: Client, model: str, query: str) -> None:
    post(agent("ann"), agent("bob"))
    answer = client.get(f"{page(model)}?{query}", follow=True)
    # What a list has no filter for is a bad request.
    assert answer.status_code == 200 or (model == "agent" and query.startswith("agent="))
    assert answer.status_code in {200, 400}


@pytest.mark.parametrize("model", ["agent", "message"])
@pytest.mark.parametrize("what", ["change", "suspend", "remove"])
@pytest.mark.parametrize("pk", ["9" * 20, "-1", "a", "9" * 5000], ids=lambda pk: pk[:20])
def test_no_key_makes_an_error(client: Client, model: str, what: str, pk: str) -> None:
    if (model, what) in {("agent", "remove"), ("message", "suspend")}:
        what = "history"
    assert client.get(page(model, what, pk), follow=True).status_code in {200, 404}


def test_nobody_else_sees_anything() -> None:
    ann = agent("ann")
    stranger = browser(staff("view_grant"))
    for model in ("agent", "message", "logconsumer"):
        assert stranger.get(page(model)).status_code == 403
    assert stranger.get(page("agent", "change", ann.pk)).status_code == 403


def test_a_message_s_text_is_for_those_who_may_read_it(clerk: Client) -> None:
    [message] = post(agent("ann"), agent("bob"))
    with CaptureQueriesContext(connection) as captured:
        answer = clerk.get(page("message", "change", message.pk))
    assert "secret" not in answer.content.decode()
    assert "Private." in text_of(answer)
    assert not [query["sql"] for query in captured if '"envelope"' in query["sql"]]
    reader = browser(staff(*VIEWS, "read_message", name="reader"))
    text = text_of(reader.get(page("message", "change", message.pk)))
    assert f"secret {message.message_id}" in text
    assert message.digest in text


@pytest.mark.parametrize("what", ["changelist", "change", "remove", "history"])
def test_a_text_cannot_be_guessed_by_its_digest(what: str) -> None:
    """Whoever has the digest of a short text, its id and its time tries all texts that it may be."""
    [message] = post(agent("ann"), agent("bob"))
    ours = browser(staff(*VIEWS, "delete_message"))
    with CaptureQueriesContext(connection) as captured:
        answer = ours.get(page("message", what, *([] if what == "changelist" else [message.pk])))
    assert answer.status_code == 200
    assert message.digest not in answer.content.decode()
    assert not [query["sql"] for query in captured if '"digest"' in query["sql"]]


def test_no_search_or_filter_looks_into_the_text(clerk: Client) -> None:
    post(agent("ann"), agent("bob"))
    for query in (
        "q=secret",
        "envelope__contains=secret",
        "envelope__startswith={",
        "digest__startswith=secret",
        "o=envelope",
        "e=1",
    ):
        answer = clerk.get(page("message") + f"?{query}", follow=True)
        assert "secret" not in answer.content.decode().replace(query, "").replace('value="secret"', "")
        assert answer.status_code in {200, 400}
    with CaptureQueriesContext(connection) as captured:
        clerk.get(page("message"))
    assert not [query["sql"] for query in captured if '"envelope"' in query["sql"]]


def test_messages_are_found_by_agent_and_by_id(client: Client) -> None:
    ann, bob, cat = agent("ann"), agent("bob"), agent("cat")
    [first], [second], [third] = post(ann, bob), post(bob, cat), post(cat, ann)
    found = {
        "ann": [third, first],
        "ann@shop.example": [third, first],
        f"ann {first.message_id}": [first],
        f"bob {first.message_id}": [],
        "nobody": [],
        " ": [third, second, first],
    }
    for term, rows in found.items():
        answer = client.get(page("message"), {"q": term})
        assert list(answer.context["cl"].result_list) == rows, term
    answer = client.get(page("message"), {"agent": str(bob.pk)})
    assert list(answer.context["cl"].result_list) == [second, first]
    assert "bob" in text_of(answer)


def test_a_message_is_removed_for_both_and_both_are_told(client: Client) -> None:
    ann, bob = agent("ann"), agent("bob")
    [message] = post(ann, bob)
    assert browser(staff(*VIEWS)).get(page("message", "remove", message.pk)).status_code == 403
    decide(client, "message", "remove", message.pk, reason="unlawful")
    message.refresh_from_db()
    assert (message.state, message.envelope) == (Message.State.REMOVED, "")
    streams = Event.objects.filter(type=log.MESSAGE_REMOVED).values_list("stream", flat=True)
    assert sorted(streams) == sorted([log.stream_of(ann.pk), log.stream_of(bob.pk)])
    assert "Removed: unlawful" in LogEntry.objects.get().change_message
    assert decide(client, "message", "remove", message.pk).status_code == 200
    assert LogEntry.objects.count() == 1


def test_the_message_of_a_deleted_agent_can_be_removed(client: Client) -> None:
    ann, bob = agent("ann"), agent("bob")
    [message] = post(ann, bob)
    agents.delete(ann)
    decide(client, "message", "remove", message.pk)
    message.refresh_from_db()
    assert message.state == Message.State.REMOVED


def test_the_work_s_list_says_what_is_left_and_that_nobody_is_heard(client: Client) -> None:
    with clock(NOON) as time:
        text = text_of(client.get(page("logconsumer")))
        assert "No worker is heard" in text
        sweep(2)
        text = text_of(client.get(page("logconsumer")))
        assert "The log keeps no events; 0 were there." in text
        assert "No worker is heard" not in text
        post(agent("ann"), agent("bob"), 2)
        time.forward(5)
        text = text_of(client.get(page("logconsumer")))
        assert "The log keeps its events 1 to 4." in text
        assert "4 events, the oldest for 5 seconds" in text
        time.forward(2)
        text = text_of(client.get(page("logconsumer")))
        assert "nobody is heard" in text


def test_lists_ask_as_much_for_one_row_as_for_many(client: Client) -> None:
    parties = [agent(f"agent-{number:02}") for number in range(20)]
    counts: dict[str, list[int]] = {}
    for many in (1, 20):
        for number in range(many):
            post(parties[number], parties[-1 - number])
        sweep()
        for model in ("agent", "message", "logconsumer"):
            with CaptureQueriesContext(connection) as captured:
                assert client.get(page(model)).status_code == 200
            counts.setdefault(model, []).append(len(captured))
    assert all(few == many for few, many in counts.values()), counts
