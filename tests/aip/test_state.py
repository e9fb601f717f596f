"""What a page shows: how the browser's part fits in, what its function may do to the process, what the log tells."""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django import forms
from django.contrib.auth.forms import UserChangeForm
from django.contrib.auth.models import User

from agentweb import action, page
from agentweb.aip import state
from agentweb.aip.models import OpenPage
from agentweb.invoke.handlers import Aborted, awaited
from agentweb.testing import TestAgent
from agentweb.wire import toon
from agentweb.wire.clock import now_datetime
from tests.support.web import send

pytestmark = [
    pytest.mark.usefixtures("catalog", "many_callers", "site_key"),
    pytest.mark.urls("tests.aip.sites"),
]

LIMIT = 2_048


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada")


@pytest.fixture(autouse=True)
def small(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "PAGE_STATE_BYTES": LIMIT}
    state._told.clear()


def opened(user: User, published: str) -> None:
    at = now_datetime()
    OpenPage.objects.create(
        id="op_1", user=user, login="l", page="/cart", state=published, offers="[]", active_at=at,
        connected_until=at + timedelta(hours=1),
    )  # fmt: skip


def both(user: User) -> Any:
    """The state, which both forms of the manifest have to say alike."""
    agent = TestAgent.with_session(scopes=["a"], user=user)
    answer, other = agent.get("/cart.json"), agent.get("/cart.toon")
    assert (answer.status_code, other.status_code) == (200, 200), answer.content
    document = json.loads(answer.content)
    assert toon.loads(other.content, max_bytes=10_000_000) == document
    assert document["browser_connected"] is True
    return document["state"]


def filled(name: str, size: int) -> dict[str, str]:
    """An object of one member that has this size as JSON."""
    return {name: "x" * (size - len(json.dumps({name: ""}, separators=(",", ":"))))}


@pytest.mark.parametrize("site", [2, 20, LIMIT - 30, LIMIT - 12, LIMIT - 11, LIMIT - 10, LIMIT - 1, LIMIT])
def test_what_the_browser_adds_fits_or_is_left_out(ada: User, site: int) -> None:
    own = filled("own", site) if site > 2 else {}
    # {"a":1} beside own members is ,"a":1 and needs six bytes.
    page("/cart", title="Cart", state=lambda ctx: own)
    opened(ada, json.dumps({"big": "y" * (LIMIT - 20), "a": 1}))
    found = both(ada)
    assert found.items() >= own.items()
    assert len(json.dumps(found, separators=(",", ":"))) <= LIMIT
    assert ("a" in found) == (site <= LIMIT - 6)
    assert ("big" in found) == (site == 2)


def test_what_has_no_room_is_logged_once(ada: User, caplog: Any) -> None:
    page("/cart", title="Cart", state=lambda ctx: filled("own", LIMIT))
    opened(ada, '{"a": 1, "b\\nERROR forged": 2}')
    with caplog.at_level(logging.WARNING, "agentweb.aip"):
        both(ada)
        both(ada)
    [told] = [record.getMessage() for record in caplog.records]
    assert told.endswith("left out: a, b[U+000A]ERROR forged")


def test_a_browser_s_state_from_before_a_smaller_limit_is_no_error(ada: User, settings: Any) -> None:
    page("/cart", title="Cart", state=lambda ctx: {"own": 1})
    opened(ada, json.dumps({"big": "y" * 10 * LIMIT}))
    assert both(ada) == {"own": 1}


def test_parts_and_depth_are_bounded_in_both_forms_together(
    ada: User, settings: Any, monkeypatch: Any
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "PAGE_STATE_BYTES": 1_000_000}
    page("/cart", title="Cart", state=lambda ctx: {"own": [1] * (state.MAX_PARTS - 10)})
    deep: Any = 1
    for _ in range(62):
        deep = [deep]
    opened(ada, json.dumps({"many": [2] * 20_000, "deep": deep, "deeper": [[[deep]]], "few": [3, 3]}))
    found = both(ada)
    assert [name for name in found if name != "own"] == ["few"]


def test_a_state_of_too_many_parts_is_the_same_error_in_both_forms(ada: User, settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "PAGE_STATE_BYTES": 1_000_000}
    page("/cart", title="Cart", state=lambda ctx: {"own": [1] * 99_990})
    agent = TestAgent.with_session(scopes=["a"], user=ada)
    codes = [agent.get(f"/cart{form}").json()["error"]["code"] for form in (".json", ".toon")]
    assert codes == ["state_error"] * 2


def test_what_the_browser_published_is_judged_like_the_rest(ada: User) -> None:
    page("/cart", title="Cart", state=lambda ctx: {"own": 1})
    opened(ada, '{"own": 2, "pass_word": "x", "seen": "md5$salt$d41d8cd98f00b204e9800998ecf8427e"}')
    assert both(ada) == {"own": 1, "seen": "[removed]"}


@pytest.mark.parametrize("number", [-0.0, 0.0])
def test_zero_is_the_same_text_in_both_forms(ada: User, number: float) -> None:
    page("/cart", title="Cart", state=lambda ctx: {"own": number, "deep": [{"a": number}]})
    opened(ada, '{"theirs": -0.0}')
    assert "-" not in json.dumps(both(ada))


# -- what the function may do


def leaving(ctx: Any) -> Any:
    raise SystemExit("hunter2")


async def leaving_later(ctx: Any) -> Any:
    raise SystemExit("hunter2")


def leaving_in_a_row(ctx: Any) -> Any:
    class Leaving(forms.Form):
        name = forms.CharField(initial=lambda: leaving(None))

    return {"form": Leaving()}


def generator_exit(ctx: Any) -> Any:
    raise GeneratorExit


@pytest.mark.parametrize("function", [leaving, leaving_later, leaving_in_a_row, generator_exit])
def test_what_ends_a_program_ends_no_worker(db: None, function: Any) -> None:
    page("/cart", title="Cart", state=function)
    answer = TestAgent.with_session(scopes=["a"]).get("/cart.json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "state_error")
    assert b"hunter2" not in answer.content


def test_an_interrupt_from_the_keyboard_passes(db: None) -> None:
    def interrupted(ctx: Any) -> Any:
        raise KeyboardInterrupt

    page("/cart", title="Cart", state=interrupted)
    agent = TestAgent.with_session(scopes=["a"])
    with pytest.raises(KeyboardInterrupt):
        agent.get("/cart.json")


def test_a_guard_that_ends_the_program_hides_what_it_guards(db: None) -> None:
    page("/cart", title="Cart", permission=leaving)

    @action(description="Look.", input=None, visible=leaving)
    def look(_inp: Any, ctx: Any) -> Any:
        return {}

    assert send("GET", "/cart.json").status_code == 404
    answer = send("POST", "/__aim/invoke", b'{"actionId": "look"}')
    assert json.loads(answer.content)["error"]["code"] == "action_not_found"


# -- what the log tells


@pytest.mark.parametrize(
    "name", ["token\nERROR forged", "token\r", "token\x1b[2J", "token\u2028x"], ids=ascii
)
def test_no_name_writes_a_line_of_its_own_into_the_log(db: None, caplog: Any, name: str) -> None:
    page("/cart", title="Cart", state=lambda ctx: {name: 1})
    with caplog.at_level(logging.WARNING, "agentweb.aip"):
        TestAgent.with_session(scopes=["a"]).get("/cart.json")
    [told] = [record.getMessage() for record in caplog.records]
    assert told.isprintable()
    assert "removed: token[U+" in told


# -- forms


def test_a_form_s_fields_for_passwords_are_known_by_their_widgets(ada: User) -> None:
    class Twice(forms.MultiWidget):
        def __init__(self) -> None:
            super().__init__([forms.PasswordInput(), forms.PasswordInput()])

        def decompress(self, value: Any) -> list[Any]:
            return [value, value]

    class Login(forms.Form):
        name = forms.CharField()
        word = forms.CharField(widget=Twice)

    page("/cart", title="Cart", state=lambda ctx: {
        "login": Login(initial={"name": "ada", "word": "MARKED"}),
        "user": UserChangeForm(instance=ada),
    })  # fmt: skip
    answer = TestAgent.with_session(scopes=["a"], user=ada).get("/cart.json")
    assert answer.status_code in {200, 500}
    assert b"MARKED" not in answer.content
    assert ada.password.encode() not in answer.content


def test_a_coroutine_that_ends_the_program_does_not_end_the_loop_of_the_server() -> None:
    """Under ASGI it runs in the loop in which everybody's requests run."""

    async def server() -> str:
        with pytest.raises(Aborted):
            await sync_to_async(lambda: async_to_sync(awaited)(leaving_later(None)))()
        return "goes on"

    assert asyncio.run(server()) == "goes on"
