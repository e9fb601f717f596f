"""Finding products, as a stranger: no grant, no signature."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.demo.shopping import Shop


def get(shop: Shop, path: str) -> tuple[int, Any]:
    answer = httpx.get(shop.origin + path, trust_env=False)
    return answer.status_code, answer.json()


@pytest.mark.requirement("AA-6.14")
def test_search_is_open_to_everyone_and_ranks_by_words(shop: Shop) -> None:
    status, found = get(shop, "/agent/search_products?query=printer+paper&limit=2")
    assert status == 200
    assert [item["id"] for item in found["items"]] == ["copy-paper-a4", "copy-paper-a4-recycled"]
    assert found["items"][0] == {
        "id": "copy-paper-a4",
        "name": "Copy paper A4, 500 sheets",
        "category": "paper",
        "price": 6.49,
        "currency": "USD",
        "in_stock": found["items"][0]["in_stock"],
    }
    assert found["found"] > 2


def test_plural_words_find_singular_products(shop: Shop) -> None:
    _, found = get(shop, "/agent/search_products?query=hammers")
    assert [item["id"] for item in found["items"]] == ["hammer-claw-450"]


def test_yen_prices_are_whole_numbers(shop: Shop) -> None:
    _, found = get(shop, "/agent/search_products?query=hojicha")
    assert (found["items"][0]["price"], found["items"][0]["currency"]) == (1200, "JPY")


def test_a_highest_price_counts_in_its_currency(shop: Shop) -> None:
    _, in_dollars = get(shop, "/agent/search_products?query=tea&max_price=5&limit=50")
    assert {item["id"] for item in in_dollars["items"]} == {"peppermint-bags-20", "chamomile-bags-20"}
    _, in_yen = get(shop, "/agent/search_products?query=tea&max_price=1500&currency=JPY&limit=50")
    assert {item["id"] for item in in_yen["items"]} == {"hojicha-100"}


def test_nothing_found_is_an_empty_list(shop: Shop) -> None:
    assert get(shop, "/agent/search_products?query=submarine") == (200, {"items": [], "found": 0})


def test_unknown_category_is_answered_with_the_categories(shop: Shop) -> None:
    status, body = get(shop, "/agent/search_products?query=tea&category=teas")
    error = body["error"]
    assert (status, error["code"], error["field"]) == (404, "category_not_found", "category")
    assert "tea" in error["categories"]


def test_every_problem_of_a_search_is_named(shop: Shop) -> None:
    status, body = get(shop, "/agent/search_products?query=&limit=500&colour=white")
    assert status == 422
    assert [problem["field"] for problem in body["error"]["problems"]] == ["colour", "limit", "query"]


def test_product_detail_has_the_description(shop: Shop) -> None:
    status, product = get(shop, "/agent/product_detail?product_id=wood-glue-250")
    assert (status, product["price"], product["currency"]) == (200, 5.6, "USD")
    assert "dries clear" in product["description"]


def test_a_mistaken_product_id_is_answered_with_the_closest(shop: Shop) -> None:
    status, body = get(shop, "/agent/product_detail?product_id=copy-paper")
    error = body["error"]
    assert (status, error["code"], error["field"]) == (404, "product_not_found", "product_id")
    assert "copy-paper-a4" in error["closest"]
    assert error["closest"][0] in error["message"]


@pytest.mark.requirement("AA-2.21")
def test_the_manifest_offers_the_shop_and_its_flow(shop: Shop) -> None:
    _, manifest = get(shop, "/.well-known/agent-actions.json")
    effects = {action["name"]: (action["effect"], action.get("scope")) for action in manifest["actions"]}
    assert effects == {
        "add_to_cart": ("write", "cart:write"),
        "cancel_order": ("delete", "orders:cancel"),
        "cart": ("read", "cart:read"),
        "change_cart": ("write", "cart:write"),
        "buy_in_bulk": ("spend", "checkout"),
        "checkout": ("spend", "checkout"),
        "checkout_jpy": ("spend", "checkout"),
        "contact_shop": ("send", "contact:send"),
        "order_status": ("read", "orders:read"),
        "product_detail": ("read", None),
        "reviews_create": ("write", "reviews:write"),
        "reviews_destroy": ("delete", "reviews:write"),
        "reviews_list": ("read", None),
        "search_products": ("read", None),
        "set_delivery_address": ("write", "profile:write"),
    }
    costs = {action["name"]: action["cost"] for action in manifest["actions"] if "cost" in action}
    assert costs == {
        "buy_in_bulk": {"field": "price", "currency": "USD"},
        "checkout": {"field": "price", "currency": "USD"},
        "checkout_jpy": {"field": "price", "currency": "JPY"},
    }
    [flow] = manifest["flows"]
    assert [step["action"] for step in flow["steps"]] == ["search_products", "add_to_cart", "checkout"]
    assert sorted(flow["input"]["required"]) == ["price", "quantity", "query"]
