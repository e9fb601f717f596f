"""What is named like a secret leaves no action, whatever case it is written in."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentweb.invoke.redaction import is_sensitive, redact

SECRET = "hunter2-do-not-tell"
NAMES = [
    "password",
    "userPassword",
    "API_KEY",
    "api-key",
    "apiKey",
    "accessToken",
    "client_secret",
    "CVV",
    "X-CSRF",
]


@pytest.mark.parametrize(
    "name", [*NAMES, "passwd", "creditCard", "card_number", "Authorization", "PASSWORD2"]
)
def test_names_of_secrets_are_known_in_every_spelling(name: str) -> None:
    assert is_sensitive(name)


@pytest.mark.parametrize(
    "name", ["tokens_used", "secretary", "keyboard", "card", "author", "passenger", "description"]
)
def test_words_that_only_look_alike_stay(name: str) -> None:
    assert not is_sensitive(name)


def test_a_site_adds_names_of_its_own(settings: Any) -> None:
    assert not is_sensitive("iban")
    settings.AGENTWEB = {**settings.AGENTWEB, "SENSITIVE_NAMES": ["iban"]}
    assert is_sensitive("customer_iban")


def plain(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    # Hypothesis tries texts of the code under test too, among them names of secrets.
    names = st.text(max_size=8).filter(lambda name: not is_sensitive(name))
    return st.lists(children, max_size=4) | st.dictionaries(names, children, max_size=4)


def poisoned(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return plain(children) | st.dictionaries(st.sampled_from(NAMES), st.just(SECRET), min_size=1, max_size=2)


@given(st.recursive(st.none() | st.integers() | st.text(max_size=5), poisoned, max_leaves=20))
def test_a_secret_is_found_at_any_depth(value: Any) -> None:
    cleaned, removed = redact(value)
    assert SECRET not in repr(cleaned)
    assert (SECRET in repr(value)) == bool(removed)


def test_what_has_nothing_to_hide_is_not_copied() -> None:
    value = {"items": [{"name": "tea"}], "count": 1}
    assert redact(value) == (value, [])
    assert redact(value)[0] is value


@pytest.mark.parametrize(
    "value",
    [
        {f"field{number}": 1 for number in range(90_000)},
        {f"tokensUsed{number}": 1 for number in range(30_000)},
        {"tokensUsed" * 20_000: 1},
        {"aB" * 100_000: 1},
        {"apiKeys" + "Api" * 60_000 + "Tokens": 1, "A" * 200_000: 1, "_" * 200_000: 1},
        {"a_" * 150_000 + "zpinz": 1, "v_e_r_i_f_" * 20_000 + "zpinz": 1},
        {f"{'a_' * 240}zpinz{number}": 1 for number in range(2_000)},
    ],
    ids=["names", "near misses", "long near miss", "long", "odd", "one of many words", "many of many words"],
)
def test_many_names_and_long_names_cost_little(value: dict[str, Any]) -> None:
    started = time.process_time()
    redact(value)
    assert time.process_time() - started < 5


def test_a_secret_is_found_in_a_long_name() -> None:
    assert is_sensitive("tokensUsed" * 1_000 + "ApiKey" + "x" * 1_000) is False
    assert is_sensitive("tokensUsed" * 1_000 + "ApiKey_" + "x" * 1_000)


def test_a_name_of_the_site_in_another_script_hides_that_name_only(settings: Any) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "SENSITIVE_NAMES": ["\u043f\u0430\u0440\u043e\u043b\u044c"]}
    assert is_sensitive("\u041f\u0430\u0440\u043e\u043b\u044c")
    assert not is_sensitive("name")
    assert is_sensitive("password")


CARD_NUMBER = "4111 1111-1111 1111"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"card": {"number": CARD_NUMBER, "holder": "Ada"}}, {"card": {"holder": "Ada"}}),
        ({"paymentCard": {"no": 4111111111111111}}, {"paymentCard": {}}),
        ({"cards": [{"PAN": "4111111111111111", "last4": "1111"}]}, {"cards": [{"last4": "1111"}]}),
        ({"card": {"number": 7}}, None),
        ({"card": {"number": "**** 1111"}}, None),
        ({"order": {"number": "4111111111111111"}}, None),
        ({"number": "4111111111111111"}, None),
        ({"card": {"data": {"number": "4111111111111111"}}}, None),
    ],
)
def test_the_number_of_a_card_is_removed_and_other_numbers_stay(value: Any, shown: Any) -> None:
    assert redact(value)[0] == (value if shown is None else shown)
