"""Who may decide, what a decision changes, and what makes two calls the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser, Permission, User
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils.functional import SimpleLazyObject
from hypothesis import given
from hypothesis import strategies as st

from agentweb.access import approvals
from agentweb.access.approvals import Wanted
from agentweb.access.callers import AGENT, Caller
from agentweb.access.models import Approval
from agentweb.testing import clock
from agentweb.wire import strict_json
from agentweb.wire.canonical import digest
from agentweb.wire.errors import RequestError

pytestmark = pytest.mark.django_db


def wanted(user: Any = None, **more: Any) -> Wanted:
    caller = Caller(kind=AGENT, subject="ed25519:x", user_id=user.pk if user else None)
    given = {"site": "shop.example", "action": "pay", "effect": "spend", "caller": caller, "value": {"n": 1}}
    return Wanted(**{**given, "shown": {"n": 1}, "amount": 8_200, "currency": "USD", **more})


def ask(user: Any = None, **more: Any) -> Approval:
    with transaction.atomic():
        return approvals.ask(wanted(user, **more))


@pytest.fixture
def deciding(db: None) -> User:
    user = User.objects.create_user("sam", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="decide_approval"))
    return User.objects.get(pk=user.pk)


def test_the_digest_is_bound_to_its_purpose_and_to_every_part_of_the_call() -> None:
    base = wanted()
    document = {
        "type": "agentweb-approval/1",
        "site": "shop.example",
        "subject": "ed25519:x",
        "grant": "",
        "action": "pay",
        "input": '{"n":1}',
        "amount": "8200",
        "currency": "USD",
    }
    assert base.digest() == digest(document)
    others = [
        replace(base, site="other.example"),
        replace(base, caller=replace(base.caller, subject="ed25519:y")),
        replace(base, action="refund"),
        replace(base, value={"n": 2}),
        replace(base, amount=82_000),
        replace(base, amount=None),
        replace(base, currency="EUR"),
    ]
    assert len({each.digest() for each in [base, *others]}) == 1 + len(others)
    assert replace(base, shown={}, effect="send").digest() == base.digest()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": [1, {"d": None, "c": True}], "a": "é"}, '{"a":"é","b":[1,{"c":true,"d":null}]}'),
        (Decimal("1.50"), "1.5"),
        (Decimal("2.0"), "2"),
        (9007199254740993, "9007199254740993"),
        (Decimal("0.1000000000000000000001"), "0.1000000000000000000001"),
        ("82", '"82"'),
    ],
)
def test_the_exact_text_keeps_every_digit_and_no_order(value: Any, text: str) -> None:
    assert approvals.exact_text(value) == text


def typed(value: Any) -> Any:
    """The value such that Python's == tells apart what JSON does: True is not 1, and 2.0 is 2."""
    if isinstance(value, dict):
        return {name: typed(member) for name, member in value.items()}
    if isinstance(value, list):
        return [typed(item) for item in value]
    return (
        ("number", Decimal(value))
        if isinstance(value, (int, Decimal)) and value not in (True, False)
        else repr(value)
    )


CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(2, 10**30)
    | st.decimals("1.1", 10**9, places=9)
    | st.text(CHARACTERS, max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(CHARACTERS, max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(VALUES)
def test_the_exact_text_reads_back_as_the_same_input_so_that_no_two_share_one(value: Any) -> None:
    text = approvals.exact_text(value)
    assert typed(strict_json.loads(text.encode())) == typed(value)
    assert approvals.exact_text(strict_json.loads(text.encode())) == text


def test_the_person_and_staff_with_the_permission_may_decide(person: User, deciding: User) -> None:
    hers, nobodys = ask(person), ask(value="other")
    assert [approvals.may_decide(each, person) for each in (hers, nobodys)] == [True, False]
    assert [approvals.may_decide(each, deciding) for each in (hers, nobodys)] == [True, True]


def make_inactive(user: User) -> None:
    user.is_active = False


def make_no_staff(user: User) -> None:
    user.is_staff = False


@pytest.mark.parametrize("change", [make_inactive, make_no_staff])
def test_staff_who_are_no_longer_that_may_not(deciding: User, change: Callable[[User], None]) -> None:
    approval = ask()
    change(deciding)
    assert not approvals.may_decide(approval, deciding)
    with pytest.raises(PermissionDenied):
        approvals.approve(approval.id, by=deciding)


def test_nobody_else_may_decide(person: User) -> None:
    approval = ask(person)
    eve = User.objects.create_user("eve", is_staff=True)
    person.is_active = False
    for user in (eve, person, AnonymousUser(), User()):
        assert not approvals.may_decide(approval, user)
        for decide in (approvals.approve, approvals.deny):
            with pytest.raises(PermissionDenied):
                decide(approval.id, by=user)
    assert list(approvals.waiting_for(person)) == []
    assert Approval.objects.get().state == "pending"


def test_a_user_model_without_staff_and_permissions_decides_for_itself_only(person: User) -> None:
    class Bare:
        pk, is_authenticated = person.pk, True

    hers, nobodys = ask(person), ask(value="other")
    assert [approvals.may_decide(each, Bare()) for each in (hers, nobodys)] == [True, False]  # type: ignore[arg-type]


def test_an_approval_that_does_not_exist_is_denied_like_one_of_others(person: User) -> None:
    with pytest.raises(PermissionDenied):
        approvals.approve("ap_" + "A" * 22, by=person)


class Named(Caller):
    @property
    def rate_key(self) -> str:
        return "user:" + 10 * self.subject


def test_a_holder_with_a_name_of_any_length_is_counted(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "OPEN_APPROVALS": 1}
    for caller in (Named(kind=AGENT, subject="x" * 63 + "a"), Named(kind=AGENT, subject="x" * 63 + "b")):
        ask(caller=caller)
        with pytest.raises(RequestError):
            ask(caller=caller, value="more")


def test_the_first_decision_stands(person: User) -> None:
    approval = ask(person)
    with clock() as time:
        assert approvals.approve(approval.id, by=SimpleLazyObject(lambda: person))  # type: ignore[arg-type]
        assert not approvals.deny(approval.id, by=person)
        assert not approvals.approve(approval.id, by=person)
        approval.refresh_from_db()
        assert (approval.state, approval.decided_by) == ("approved", person)
        assert int(approval.expires_at.timestamp()) == int(time.now) + 600


def test_an_approval_is_used_once_and_what_is_rolled_back_was_not_used(person: User) -> None:
    approval, key = ask(person), wanted(person).digest()
    assert not approvals.consume(key)
    approvals.approve(approval.id, by=person)
    with transaction.atomic():
        assert approvals.consume(key)
        transaction.set_rollback(True)
    assert [approvals.consume(key) for _ in range(2)] == [True, False]
    approval.refresh_from_db()
    assert (approval.state, approval.input, approval.shown) == ("used", "", '{"n":1}')


@pytest.mark.parametrize("decide", [approvals.approve, approvals.deny])
def test_a_decision_comes_too_late_after_the_time(person: User, decide: Any) -> None:
    with clock() as time:
        approval = ask(person)
        time.forward(600)
        assert not decide(approval.id, by=person)
        assert approvals.state_of(approval) == "expired"
        assert list(approvals.waiting_for(person)) == []


def test_a_denial_erases_the_exact_input(person: User) -> None:
    approval = ask(person)
    assert approvals.deny(approval.id, by=person)
    approval.refresh_from_db()
    assert (approval.state, approval.input) == ("denied", "")


def test_what_was_approved_is_found_again_and_not_asked_anew(person: User) -> None:
    approval = ask(person)
    approvals.approve(approval.id, by=person)
    assert ask(person).id == approval.id
    assert Approval.objects.count() == 1
