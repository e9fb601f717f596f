from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentweb.client.grants import MARGIN, Chain, Known, Need, is_candidate, narrowest, remaining
from agentweb.wire.grants import Mandate, attenuate, new_grant, parse_grant
from agentweb.wire.signing import SigningKey
from tests.client.conftest import AGENT, PERSON

NOW = 1_790_000_000
NOTHING = Known(ended={}, spent={})


def chain(*scopes: str, **changes: Any) -> Chain:
    members: dict[str, Any] = {
        "issuer": PERSON,
        "subject": AGENT.public,
        "audience": "shop.example",
        "scopes": scopes or ("cart:write",),
        "not_before": NOW - 100,
        "expires": NOW + 3_600,
    }
    return (parse_grant(new_grant(**(members | changes))),)


def need(**changes: Any) -> Need:
    members: dict[str, Any] = {
        "site": "shop.example",
        "subject": AGENT.public,
        "now": NOW,
        "scope": "cart:write",
    }
    return Need(**(members | changes))


def usd(per_tx: int, total: int) -> Mandate:
    return Mandate("USD", per_tx, total)


# --- who may be chosen ---


@pytest.mark.parametrize(
    "unfit",
    [
        chain(audience="other.example"),
        chain(audience="shop.example:8443"),
        chain(subject=PERSON.public),
        chain("cart"),
        chain("cartel:write", "cart:read"),
        chain(expires=NOW + MARGIN - 1),
        chain(not_before=NOW + 1),
    ],
)
def test_grant_that_the_site_would_refuse_is_not_chosen(unfit: Chain) -> None:
    assert not is_candidate(unfit, need(), NOTHING)
    assert narrowest([unfit], need(), NOTHING) is None


def test_grant_must_live_for_half_a_minute_more() -> None:
    assert is_candidate(chain(expires=NOW + MARGIN), need(), NOTHING)
    assert is_candidate(chain(not_before=NOW), need(), NOTHING)


def test_grant_known_to_have_ended_is_not_chosen_nor_one_below_it() -> None:
    helper = SigningKey.generate()
    documents = attenuate(
        [chain(subject=helper.public, delegate=1)[0].document], helper, subject=AGENT.public
    )
    below = tuple(parse_grant(document) for document in documents)
    assert is_candidate(below, need(), NOTHING)
    for member in below:
        assert not is_candidate(below, need(), Known(ended={member.id: "grant_revoked"}, spent={}))


def test_any_grant_of_the_site_will_do_without_a_scope() -> None:
    assert is_candidate(chain("something:else"), need(scope=None), NOTHING)
    assert not is_candidate(chain("something:else", audience="other.example"), need(scope=None), NOTHING)


@pytest.mark.parametrize(
    ("mandate", "fits"),
    [
        (None, False),
        (usd(10_00, 10_00), True),
        (usd(9_99, 100_00), False),
        (usd(100_00, 9_99), False),
        (Mandate("EUR", 100_00, 100_00), False),
    ],
)
def test_spending_needs_a_mandate_that_covers_it(mandate: Mandate | None, fits: bool) -> None:
    spending = need(spends=True, currency="USD", amount=10_00)
    assert is_candidate(chain(mandate=mandate), spending, NOTHING) is fits


def test_spending_of_an_unknown_amount_needs_any_mandate_with_something_left() -> None:
    unknown = need(spends=True)
    held = chain(mandate=usd(1, 5))
    assert is_candidate(held, unknown, NOTHING)
    assert not is_candidate(held, unknown, Known(ended={}, spent={held[0].id: 5}))
    assert not is_candidate(chain(), unknown, NOTHING)


def test_what_was_spent_counts_against_every_mandate_of_the_chain() -> None:
    helper = SigningKey.generate()
    parent = chain(subject=helper.public, delegate=1, mandate=usd(50_00, 100_00))[0]
    documents = attenuate([parent.document], helper, subject=AGENT.public, mandate=usd(50_00, 60_00))
    held = tuple(parse_grant(document) for document in documents)
    assert remaining(held, NOTHING) == 60_00
    assert remaining(held, Known(ended={}, spent={held[1].id: 15_00})) == 45_00
    assert remaining(held, Known(ended={}, spent={held[0].id: 90_00})) == 10_00
    assert remaining(chain(), NOTHING) is None


def test_call_that_may_not_spend_gets_no_mandate() -> None:
    assert narrowest([chain(mandate=usd(1, 1))], need(may_spend=False), NOTHING) is None
    plain = chain()
    assert narrowest([chain(mandate=usd(1, 1)), plain], need(may_spend=False), NOTHING) == plain


# --- which one ---

BETTER_FIRST: list[tuple[str, Chain, Chain]] = [
    ("exact before wildcard", chain("cart:write"), chain("cart:*")),
    ("exact before wildcard, with more scopes", chain("cart:write", "a", "b"), chain("cart:*")),
    ("wildcard before everything", chain("cart:*"), chain("*")),
    ("fewer scopes", chain("cart:write"), chain("cart:write", "orders")),
    ("one time", chain(one_time=True, expires=NOW + 9_000), chain()),
    ("no mandate", chain(expires=NOW + 9_000), chain(mandate=usd(1, 1))),
    ("smaller per_tx", chain(mandate=usd(5, 100)), chain(mandate=usd(6, 10))),
    ("less remaining", chain(mandate=usd(5, 10)), chain(mandate=usd(5, 11))),
    ("earlier end", chain(expires=NOW + 3_599), chain(expires=NOW + 3_600)),
    ("one time before no mandate", chain(one_time=True, mandate=usd(5, 5)), chain()),
]


@pytest.mark.requirement("AA-7.4")
@pytest.mark.parametrize(("what", "better", "worse"), BETTER_FIRST, ids=[what for what, _, _ in BETTER_FIRST])
def test_narrower_grant_is_chosen(what: str, better: Chain, worse: Chain) -> None:
    assert narrowest([better, worse], need(), NOTHING) == better
    assert narrowest([worse, better], need(), NOTHING) == better


def test_deeper_wildcard_is_chosen_before_shallower() -> None:
    deep, shallow = chain("cart:item:*"), chain("cart:*")
    assert narrowest([shallow, deep], need(scope="cart:item:add"), NOTHING) == deep


def test_most_specific_matching_pattern_of_a_grant_counts() -> None:
    two, one = chain("cart:write", "*"), chain("cart:*")
    assert narrowest([one, two], need(), NOTHING) == two


def test_without_a_scope_a_grant_is_as_wide_as_its_widest_pattern() -> None:
    narrow, wide = chain("a", "b", "c"), chain("a:*")
    assert narrowest([wide, narrow], need(scope=None), NOTHING) == narrow


def test_write_never_carries_a_spending_grant_when_a_plain_one_exists() -> None:
    plain, spending = chain("cart:write"), chain("cart:write", mandate=usd(1, 1), expires=NOW + 60)
    assert narrowest([spending, plain], need(), NOTHING) == plain
    assert narrowest([spending], need(), NOTHING) == spending


def test_what_was_spent_changes_the_choice() -> None:
    one, other = chain(mandate=usd(5, 10)), chain(mandate=usd(5, 11))
    spending = need(spends=True, currency="USD", amount=5)
    assert narrowest([one, other], spending, NOTHING) == one
    assert narrowest([one, other], spending, Known(ended={}, spent={other[0].id: 2})) == other
    assert narrowest([one, other], spending, Known(ended={}, spent={one[0].id: 6})) == other


def test_grants_equal_in_everything_are_told_apart_by_their_id() -> None:
    first, second = chain(), chain()
    assert narrowest([first, second], need(), NOTHING) == min(first, second, key=lambda held: held[-1].id)


GRANTS = st.builds(
    lambda scopes, one_time, mandate, expires: chain(
        *scopes, one_time=one_time, mandate=mandate, expires=NOW + expires
    ),
    st.lists(st.sampled_from(["cart:write", "cart:*", "*", "orders", "cart:item:*"]), min_size=1, max_size=3),
    st.booleans(),
    st.sampled_from([None, usd(5, 10), usd(10, 10), Mandate("EUR", 5, 10)]),
    st.sampled_from([10, 60, 61]),
)
NEEDS = st.builds(
    need,
    scope=st.sampled_from([None, "cart:write", "cart:item:add", "orders"]),
    spends=st.booleans(),
    currency=st.sampled_from([None, "USD", "EUR"]),
    amount=st.sampled_from([None, 1, 5, 10]),
)


@settings(deadline=None)
@given(data=st.data(), wanted=NEEDS, held=st.lists(GRANTS, max_size=8))
def test_choice_does_not_depend_on_the_order_of_the_grants(
    data: st.DataObject, wanted: Need, held: list[Chain]
) -> None:
    spent = {member[0].id: data.draw(st.integers(0, 10)) for member in held}
    known = Known(ended={}, spent=spent)
    chosen = narrowest(held, wanted, known)
    assert narrowest(data.draw(st.permutations(held)), wanted, known) == chosen
    assert (chosen is None) == (not any(is_candidate(member, wanted, known) for member in held))
    if chosen is not None:
        # Taking away what was not chosen changes nothing.
        others = [member for member in held if member != chosen]
        assert narrowest([chosen, *others[: len(others) // 2]], wanted, known) == chosen
