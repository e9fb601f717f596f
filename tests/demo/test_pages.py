"""The shop's pages for agents: manifests, and who sees what in them."""

from __future__ import annotations

import httpx
import jsonschema
import pytest

from agentweb.wire import toon
from tests.demo.shopping import Shop

PAGES = {
    "/index": ["search_products"],
    "/products/copy-paper-a4": [
        "product_detail",
        "add_to_cart",
        "buy_in_bulk",
        "reviews_list",
        "reviews_create",
        "reviews_destroy",
    ],
    "/cart": ["add_to_cart", "change_cart", "cart", "checkout", "checkout_jpy"],
    "/orders": ["order_status", "cancel_order"],
}


def get(shop: Shop, path: str) -> httpx.Response:
    return httpx.get(shop.origin + path, trust_env=False)


@pytest.mark.parametrize("page", PAGES)
def test_everybody_reads_what_a_page_offers_and_nothing_else(shop: Shop, page: str) -> None:
    manifest = get(shop, f"{page}.json").json()
    assert (manifest["protocol"], manifest["version"]) == ("AIP", "0.1-demo")
    assert (manifest["state_scope"], manifest["state"]) == ("public_schema_only", {})
    assert [action["id"] for action in manifest["actions"]] == PAGES[page]
    assert manifest["invoke_url"] == f"{shop.origin}/__aim/invoke"
    for action in manifest["actions"]:
        schema = action["input_schema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        jsonschema.validate(action["input_example"], schema)
        members = schema.get("properties", {"": schema}).values()
        assert all(member["type"] == "string" for member in members)
    assert manifest["invoke_example"] == {
        "actionId": manifest["actions"][0]["id"],
        "input": manifest["actions"][0]["input_example"],
    }


@pytest.mark.parametrize("page", PAGES)
def test_both_forms_say_the_same_to_everybody_and_to_a_session(shop: Shop, page: str) -> None:
    helper = shop.helper("uma", "*")
    for client in (httpx.Client(base_url=shop.origin, trust_env=False), helper.http):
        in_json, in_toon = client.get(f"{page}.json"), client.get(f"{page}.toon")
        assert toon.loads(in_toon.content, max_bytes=1_000_000) == in_json.json()


def test_pages_for_people_name_their_manifests(shop: Shop) -> None:
    answer = get(shop, "/products/copy-paper-a4")
    assert (
        '</products/copy-paper-a4.json>; rel="alternate"; type="application/json"' in answer.headers["Link"]
    )
    assert '<link rel="alternate" type="text/toon" href="/products/copy-paper-a4.toon">' in answer.text
    assert 'href="/index.json"' in get(shop, "/").text


def test_the_site_map_lists_the_pages_that_everybody_may_see(shop: Shop) -> None:
    text = get(shop, "/sitemap.toon").text
    for path in ("/cart", "/orders", "/index"):
        assert path in text
    assert "control-panel" not in text


def test_the_front_page_shows_what_is_for_sale(shop: Shop) -> None:
    state = shop.helper("uma", "cart:read").sees("/index")
    assert state["categories"][0] == {"slug": "paper", "name": "Office paper"}
    assert len(state["products"]) >= 60
    [paper] = [each for each in state["products"] if each["id"] == "copy-paper-a4"]
    assert (paper["price"], paper["currency"], paper["category"]) == (6.49, "USD", "paper")


def test_a_product_shows_its_reviews_and_what_is_in_the_cart(shop: Shop) -> None:
    shop.agent("uma").does("reviews_create", product="hand-saw-500", stars=4, text="Cuts straight.")
    helper = shop.helper("uma", "cart:write")
    helper.invokes("add_to_cart", {"product_id": "hand-saw-500", "quantity": "2"})
    state = helper.sees("/products/hand-saw-500")
    assert (state["product"]["id"], state["product"]["price"]) == ("hand-saw-500", 21.5)
    assert state["reviews"] == [{"author": "uma", "stars": 4, "text": "Cuts straight."}]
    assert (state["stars"], state["reviews_in_all"], state["in_cart"]) == (4, 1, 2)
    assert helper.http.get("/products/no-such-thing.json").status_code == 404


def test_an_agent_at_the_pages_and_its_person_share_one_cart(shop: Shop) -> None:
    helper, other = shop.helper("ivy", "cart:*"), shop.helper("ivy", "cart:*")
    status, done = helper.invokes(
        "add_to_cart", {"product_id": "earl-grey-100", "quantity": "2"}, page="/cart"
    )
    assert status == 200
    [cart] = done["state"]["carts"]
    assert cart == done["result"]
    assert (cart["lines"][0]["quantity"], cart["total"]) == (2, 14.4)
    assert other.sees("/cart")["carts"] == [cart]
    ivy = shop.browser("ivy")
    assert "Earl Grey, 100 g" in ivy.open("/cart")
    # A new password has ended the sessions.
    assert helper.http.get("/cart.json").status_code == 401
    # An agent that signs has working papers of its own.
    assert shop.agent("ivy").does("cart") == {"carts": []}
    ivy.press("Order and pay $14.40")
    assert shop.helper("ivy", "cart:*").sees("/cart")["carts"] == []


def test_texts_are_read_by_the_actions_own_rules(shop: Shop) -> None:
    helper = shop.helper("uma-2", "cart:*")
    for wrong in ("1e1", "٣", " 2", "0", "21", "2.0", "zwei"):
        status, answer = helper.invokes("add_to_cart", {"product_id": "earl-grey-100", "quantity": wrong})
        assert (status, answer["error"]["problems"][0]["pointer"]) == (422, "/quantity"), wrong
    assert helper.sees("/cart")["carts"] == []


def test_a_session_pays_within_its_scopes_and_mandate_only(shop: Shop) -> None:
    helper = shop.helper("uma-3", "cart:*", "checkout")
    _, done = helper.invokes("add_to_cart", {"product_id": "basil-seeds", "quantity": "1"})
    purchase = {"cart_id": done["result"]["cart_id"], "price": "2.40"}
    answer = helper.http.post(
        "/__aim/invoke",
        json={"actionId": "checkout", "input": purchase},
        headers={"Idempotency-Key": "k" * 20},
    )
    assert answer.json()["error"]["code"] == "mandate_required"


def test_nothing_of_one_person_is_in_what_others_see(shop: Shop) -> None:
    vera = shop.helper("vera-2", "*")
    mark = "Xylographer-Row-17"
    signed = shop.agent("vera-2")
    signed.does(
        "set_delivery_address",
        address={
            "recipient": "Vera",
            "street": mark,
            "postcode": "1",
            "city": "Town",
            "country": "NL",
        },
    )
    by_agent = signed.buys("basil-seeds")["order_id"]
    order = shop.desk.ask("order_of", name="vera-2", products={"basil-seeds": 1})
    vera.invokes("add_to_cart", {"product_id": "origami-paper-300", "quantity": "7"})
    [cart] = vera.sees("/cart")["carts"]
    own = {mark, by_agent, order, cart["cart_id"], "vera-2"}
    assert {each["order_id"] for each in vera.sees("/orders")["orders"]} == {by_agent, order}
    assert mark in vera.http.get("/orders.toon").text
    strangers = httpx.Client(base_url=shop.origin, trust_env=False)
    for client in (strangers, shop.helper("otto-2", "*").http):
        for page in [*PAGES, "/products/origami-paper-300", "/sitemap", "/sitemap.agents"]:
            for form in ("json", "toon"):
                text = client.get(f"{page}.{form}").text
                assert not [value for value in own if value in text], page


@pytest.mark.parametrize("page", ["/index", "/products/basil-seeds", "/cart", "/orders"])
def test_what_a_page_shows_takes_few_queries_however_long_it_is(shop: Shop, page: str) -> None:
    helper = shop.helper("count-3", "*")

    def fill(*slugs: str) -> None:
        shop.desk.ask("order_of", name="count-3", products=dict.fromkeys(slugs, 1))
        for slug in slugs:
            helper.invokes("add_to_cart", {"product_id": slug, "quantity": "1"})

    fill("basil-seeds")
    status, few = shop.queries(f"{page}.json", token=helper.token)
    assert status == 200
    assert few <= 10
    fill("earl-grey-100", "wood-glue-250", "ring-binder-a4")
    assert shop.queries(f"{page}.json", token=helper.token) == (200, few)
