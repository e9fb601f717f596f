"""Calls of actions that have a form: the form decides, and its words reach the caller."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django import forms
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.test import override_settings

from agentweb import action
from agentweb.access.models import Approval
from agentweb.catalog.registry import registry
from agentweb.testing import TestAgent
from tests.catalog.forms.every import Account

pytestmark = pytest.mark.usefixtures("catalog")


class Contact(forms.Form):
    """Write to the shop.

    Not published.
    """

    name = forms.CharField(max_length=20)
    email = forms.EmailField()
    again = forms.EmailField(required=False)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if name == "spam":
            raise ValidationError("No spam, please.", code="is_spam")
        return name.title()

    def clean(self) -> None:
        if self.cleaned_data.get("again") and self.cleaned_data["again"] != self.cleaned_data.get("email"):
            raise ValidationError("The addresses differ.")


def agent() -> TestAgent:
    return TestAgent(scopes=["form:*"])


def problems_of(answer: Any) -> list[tuple[str, str, str]]:
    assert answer.status_code == 422, answer.content
    error = answer.json()["error"]
    assert error["code"] == "invalid_input"
    return [(each["pointer"], each["code"], each["message"]) for each in error["problems"]]


def declare(form: Any, **words: Any) -> list[Any]:
    """Publish an action ``submit`` with the form; its handler returns nothing and keeps what it was given."""
    got: list[Any] = []

    @action("submit", effect="write", scope="form:submit", form=form, **words)
    def submit(inp: Any, ctx: Any) -> None:
        """Submit."""
        got.append((inp, ctx.form))

    assert registry.faults() == []
    return got


def submit(**value: Any) -> Any:
    return agent().post("/agent/submit", value)


def test_the_handler_gets_what_the_form_made_of_the_input() -> None:
    got = declare(Contact)
    assert submit(name="ada", email="ada@shop.example").status_code == 200
    [(inp, form)] = got
    assert inp == {"name": "Ada", "email": "ada@shop.example", "again": ""}
    assert isinstance(form, Contact)
    assert form.is_valid()
    assert form.cleaned_data is inp


def test_every_error_of_the_form_is_a_problem_with_its_pointer() -> None:
    got = declare(Contact)
    answer = submit(name="spam", email="a@shop.example", again="b@shop.example")
    assert problems_of(answer) == [
        ("", "invalid", "The addresses differ."),
        ("/name", "is_spam", "No spam, please."),
    ]
    assert got == []


def test_the_schema_speaks_before_the_form() -> None:
    declare(Contact)
    answer = submit(name="spam", email="nowhere", colour="red")
    assert [(pointer, code) for pointer, code, _ in problems_of(answer)] == [
        ("/colour", "unknown_field"),
        ("/email", "format"),
    ]


def test_a_read_takes_a_form_from_the_query_string() -> None:
    class Search(forms.Form):
        words = forms.CharField()
        most = forms.IntegerField(required=False, max_value=9)
        sold = forms.BooleanField(required=False)
        tags = forms.MultipleChoiceField(choices=[("a", "A"), ("b", "B")], required=False)

    @action("search", method="GET", form=Search)
    def search(inp: Any, ctx: Any) -> Any:
        """Search."""
        return inp

    answer = TestAgent().get("/agent/search?words=tea&most=5&sold=true&tags=a&tags=b")
    assert answer.json() == {"words": "tea", "most": 5, "sold": True, "tags": ["a", "b"]}
    assert TestAgent().get("/agent/search?words=tea").json() == {
        "words": "tea",
        "most": None,
        "sold": False,
        "tags": [],
    }


def test_an_async_handler_gets_the_form_too() -> None:
    @action("later", effect="write", scope="form:later", form=Contact)
    async def later(inp: Any, ctx: Any) -> Any:
        """Answer later."""
        return {"name": ctx.form.cleaned_data["name"]}

    answer = agent().post("/agent/later", {"name": "ada", "email": "ada@shop.example"})
    assert answer.json() == {"name": "Ada"}


def test_a_model_form_is_saved_and_its_key_answered() -> None:
    action.from_form(Account, name="open_account", scope="form:account")
    group = Group.objects.create(name="staff")
    answer = agent().post("/agent/open_account", {"username": "jürgen", "groups": [group.pk]})
    user = User.objects.get()
    assert (answer.status_code, answer.json()) == (200, {"saved": True, "id": user.pk})
    assert (user.username, list(user.groups.all())) == ("jürgen", [group])


def test_the_unique_checks_of_the_model_are_the_callers_to_mend() -> None:
    action.from_form(Account, name="open_account", scope="form:account")
    User.objects.create(username="ada")
    answer = agent().post("/agent/open_account", {"username": "ada", "groups": [7]})
    assert problems_of(answer) == [
        ("/groups", "invalid_choice", "Select a valid choice. 7 is not one of the available choices."),
        ("/username", "unique", "A user with that username already exists."),
    ]
    assert User.objects.count() == 1


def test_losing_the_race_for_a_unique_name_is_no_crash() -> None:
    class Racing(Account):
        """Open an account."""

        def validate_unique(self) -> None:
            # The other one commits after this form has looked.
            if hasattr(self, "has_looked"):
                super().validate_unique()
            self.has_looked = True

    action.from_form(Racing, name="open_account", scope="form:account")
    User.objects.create(username="ada")
    answer = agent().post("/agent/open_account", {"username": "ada"})
    assert [problem[:2] for problem in problems_of(answer)] == [("/username", "unique")]


def test_what_the_form_itself_does_is_answered_as_its_method_says() -> None:
    class Saves(Contact):
        """Save."""

        def save(self) -> None: ...

    class Sends(Contact):
        """Send."""

        def send(self, request: Any, *, user: Any, subject: str = "Hello") -> None:
            assert request.path == "/agent/sends"
            assert user.is_anonymous

    class SendsLater(Contact):
        """Send, when there is time."""

        async def send(self) -> dict[str, str]:
            return {"queued": self.cleaned_data["email"]}

    class Tells(Contact):
        """Tell."""

        def save(self) -> dict[str, str]:
            return {"ticket": "T-1", "for": self.cleaned_data["name"]}

    action.from_form(Saves, name="saves", scope="form:a")
    action.from_form(Sends, name="sends", effect="send", scope="form:b")
    action.from_form(SendsLater, name="sends_later", effect="send", scope="form:b")
    action.from_form(Tells, name="tells", scope="form:c")
    assert registry.faults() == []
    value = {"name": "ada", "email": "ada@shop.example"}
    assert agent().post("/agent/saves", value).json() == {"saved": True}
    assert agent().post("/agent/sends", value).json() == {"sent": True}
    assert agent().post("/agent/sends_later", value).json() == {"queued": "ada@shop.example"}
    assert agent().post("/agent/tells", value).json() == {"ticket": "T-1", "for": "Ada"}


def test_a_handler_of_ones_own_takes_the_place_of_save() -> None:
    def greet(inp: Any, ctx: Any) -> Any:
        return {"hello": inp["name"], "from": type(ctx.form).__name__}

    action.from_form(Contact, name="greet", handler=greet, scope="form:greet", title="Greet somebody")
    assert registry.faults() == []
    found = registry.get("greet")
    assert found is not None
    assert (found.title, found.description, found.effect) == ("Greet somebody", "Write to the shop.", "write")
    answer = agent().post("/agent/greet", {"name": "ada", "email": "ada@shop.example"})
    assert answer.json() == {"hello": "Ada", "from": "Contact"}


def test_a_form_that_asks_for_the_request_and_the_user_gets_them() -> None:
    class Asks(Contact):
        def __init__(self, *args: Any, request: Any, **kwargs: Any) -> None:
            self.asked = [request.path]
            super().__init__(*args, **kwargs)

    class AsksMore(Asks):
        def __init__(self, user: Any, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.asked.append(user.get_username())

    got = declare(AsksMore)
    person = User.objects.create(username="ada")
    caller = TestAgent(scopes=["form:*"], user=person)
    assert caller.post("/agent/submit", {"name": "x", "email": "a@shop.example"}).status_code == 200
    assert got[0][1].asked == ["/agent/submit", "ada"]


def test_a_form_with_a_prefix_reads_its_own_names() -> None:
    class Prefixed(Contact):
        prefix = "contact"

    got = declare(Prefixed)
    assert submit(name="ada", email="ada@shop.example").status_code == 200
    assert got[0][0]["name"] == "Ada"


def test_what_init_changes_the_form_of_the_call_knows() -> None:
    class Stricter(Contact):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self.fields["again"].required = True

    declare(Stricter)
    answer = submit(name="ada", email="ada@shop.example")
    assert problems_of(answer) == [("/again", "required", "This field is required.")]


def test_a_password_is_not_repeated_in_what_is_wrong_with_it() -> None:
    class Login(forms.Form):
        password = forms.CharField(widget=forms.PasswordInput)

        def clean_password(self) -> str:
            raise ValidationError(f"{self.cleaned_data['password']} is known to everybody.", code="weak")

    declare(Login)
    answer = submit(password=" hunter2-and-more ")
    assert problems_of(answer) == [("/password", "weak", "… is known to everybody.")]
    assert b"hunter2" not in answer.content


class When(forms.Form):
    at = forms.DateTimeField()
    split = forms.SplitDateTimeField()
    day = forms.DateField(localize=True)
    lasts = forms.DurationField()


@pytest.mark.parametrize("moment", ["2026-01-31T23:30:00Z", "2026-02-01t08:30:00+09:00"])
@override_settings(TIME_ZONE="Asia/Tokyo", LANGUAGE_CODE="de")
def test_a_moment_is_the_same_in_every_time_zone_of_the_site(moment: str) -> None:
    got = declare(When)
    value = {"at": moment, "split": moment, "day": "2026-02-01", "lasts": "PT90M"}
    assert submit(**value).status_code == 200
    [(aware, _)] = got
    assert aware["at"] == aware["split"] == datetime.fromisoformat(moment.upper())
    assert aware["lasts"] == timedelta(minutes=90)
    assert aware["day"].isoformat() == "2026-02-01"


def test_a_moment_that_another_time_zone_does_not_have_is_refused() -> None:
    declare(When)
    answer = submit(
        at="0001-01-01T00:00:00+14:00", split="9999-12-31T23:59:59-14:00", day="2026-02-01", lasts="P1D"
    )
    assert problems_of(answer) == [
        ("/at", "out_of_range", "'at' must be a moment that exists in every time zone."),
        ("/split", "out_of_range", "'split' must be a moment that exists in every time zone."),
    ]


def test_a_person_who_approves_the_call_does_not_see_the_password() -> None:
    class Pin(forms.Form):
        pin = forms.CharField(widget=forms.PasswordInput)
        amount = forms.IntegerField()

    declare(Pin, confirm="person")
    person = User.objects.create(username="ada")
    answer = TestAgent(scopes=["form:*"], user=person).post("/agent/submit", {"pin": "4321", "amount": 5})
    assert answer.status_code == 428
    assert Approval.objects.get().shown == '{"pin":"[hidden]","amount":5}'
