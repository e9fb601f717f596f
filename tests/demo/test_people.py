"""The shop's pages for people: buying, and whose things they show."""

from __future__ import annotations

import re

import httpx
import pytest

from demo_project.story.browser import Browser
from tests.demo.shopping import Shop

CHANGES = ("/cart/add", "/cart/change", "/cart/order", "/orders/or_1/cancel", "/control-panel/decide")


def status(browser: Browser, path: str, **data: str) -> int:
    """Of a form that was sent with the person's CSRF token, without following where it leads."""
    token = browser.http.cookies["csrftoken"]
    form = {"csrfmiddlewaretoken": token, **data}
    return browser.http.post(path, data=form, follow_redirects=False).status_code


@pytest.mark.parametrize(
    ("path", "heading"),
    [
        ("/", "Paper, tea, tools and the rest"),
        ("/?q=tea", "for “tea”"),
        ("/products/hammer-claw-450", "Claw hammer, 450 g"),
        ("/login", "Log in"),
    ],
)
def test_everybody_sees_what_is_for_sale(shop: Shop, path: str, heading: str) -> None:
    page = httpx.get(shop.origin + path, trust_env=False)
    assert page.status_code == 200
    assert page.text.count("<h1>") == 1
    assert heading in page.text
    assert "http://" not in page.text.replace(shop.origin, "").replace("http://www.w3.org/", "")


def test_what_is_not_there_is_404_with_a_way_back(shop: Shop) -> None:
    page = httpx.get(f"{shop.origin}/products/no-such-thing", trust_env=False)
    assert page.status_code == 404
    assert "Back to the shop" in page.text


@pytest.mark.parametrize("path", ["/cart", "/orders", "/control-panel"])
def test_what_is_somebodys_own_asks_who_it_is(shop: Shop, path: str) -> None:
    answer = httpx.get(shop.origin + path, trust_env=False)
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/login?next={path}")


@pytest.mark.parametrize("path", CHANGES)
def test_nothing_is_changed_without_a_form_of_the_shop(shop: Shop, path: str) -> None:
    ada = shop.browser("ada")
    assert ada.http.post(path, data={"product": "basil-seeds", "quantity": "1"}).status_code == 403
    assert ada.http.get(path).status_code == 405


def test_a_person_buys_with_the_rules_that_agents_have(shop: Shop) -> None:
    before = shop.desk.ask("stock", slug="tape-measure-5m")
    lin = shop.browser("lin")
    lin.open("/products/tape-measure-5m")
    page = lin.press("Add to cart", {"quantity": "2"})
    assert lin.url == f"{shop.origin}/cart"
    assert "It is in your cart." in page
    assert "It is in your cart." not in lin.open("/cart")
    page = lin.press("Change Tape measure, 5 m", {"quantity": "3"})
    assert "Together <strong>$26.70</strong>" in page
    page = lin.press("Order and pay $26.70")
    assert lin.url == f"{shop.origin}/orders"
    assert re.search(r"Your order or_[\w-]{22} is placed and paid", page)
    assert "Paid, slip ps_" in page
    assert shop.desk.ask("stock", slug="tape-measure-5m") == before - 3
    assert "There is nothing in it yet." in lin.open("/cart")


def test_what_is_taken_out_of_the_cart_is_gone(shop: Shop) -> None:
    lin = shop.browser("lin-2")
    for product in ("basil-seeds", "hojicha-100"):
        lin.open(f"/products/{product}")
        lin.press("Add to cart")
    page = lin.open("/cart")
    assert "Priced in US dollars" in page
    assert "Priced in Japanese yen" in page
    page = lin.press("Remove Basil seeds")
    assert "Basil seeds" not in page
    assert "Hojicha" in page


def test_a_stranger_is_asked_to_log_in_and_comes_back_to_the_product(shop: Shop) -> None:
    stranger = Browser(shop.origin)
    assert "Add to cart" not in stranger.open("/products/basil-seeds")
    stranger.open("/login?next=/products/basil-seeds")
    password = shop.desk.ask("password", name="newcomer")
    page = stranger.press("Log in", {"username": "newcomer", "password": password})
    assert stranger.url == f"{shop.origin}/products/basil-seeds"
    assert "Add to cart" in page


def test_a_price_that_rose_since_the_person_looked_is_asked_about(shop: Shop) -> None:
    lin = shop.browser("lin-3")
    lin.open("/products/garden-twine-100")
    lin.press("Add to cart")
    shop.desk.ask("price", slug="garden-twine-100", minor=630)
    try:
        page = lin.press("Order and pay $5.30")
    finally:
        shop.desk.ask("price", slug="garden-twine-100", minor=530)
    assert "Prices have changed: the cart now costs 6.30 USD. Nothing was ordered." in page
    assert "Nothing yet." in lin.open("/orders")


def test_a_cart_that_was_ordered_is_not_ordered_again(shop: Shop) -> None:
    lin = shop.browser("lin-4")
    lin.open("/products/basil-seeds")
    stale = lin.press("Add to cart")
    lin.press("Order and pay $2.40")
    lin.page = stale
    page = lin.press("Order and pay $2.40")
    assert "That cart has been ordered already." in page
    assert lin.open("/orders").count('class="order"') == 1


def test_more_than_is_there_is_explained(shop: Shop) -> None:
    shop.desk.ask("set_stock", slug="book-knots", left=2)
    lin = shop.browser("lin-5")
    page = lin.open("/products/book-knots")
    assert "Only 2 left" in page
    assert 'max="2"' in page
    page = lin.press("Add to cart", {"quantity": "3"})
    assert "Fifty Useful Knots: 3 wanted, 2 left" in page
    for wrong in ("0", "-1", "1.5", "x", "", "21", "9" * 400):
        page = lin.press("Add to cart", {"quantity": wrong})
        assert "Choose a whole number from 1 to 20." in page, wrong
    shop.desk.ask("set_stock", slug="book-knots", left=40)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"cart": "", "currency": "USD", "price": "1"},
        {"cart": "ct_1", "currency": "XXX", "price": "1"},
        {"cart": "ct_1", "currency": "USD", "price": "1e9999"},
        {"cart": "ct_1", "currency": "USD", "price": "NaN"},
    ],
)
def test_a_form_that_nobody_was_shown_breaks_nothing(shop: Shop, data: dict[str, str]) -> None:
    assert status(shop.browser("lin-6"), "/cart/order", **data) in {302, 404}


def test_an_order_is_cancelled_once_and_the_staff_are_asked_for_the_money(shop: Shop) -> None:
    before = shop.desk.ask("stock", slug="work-gloves-m")
    order = shop.desk.ask("order_of", name="lin-7", products={"work-gloves-m": 2})
    lin = shop.browser("lin-7")
    stale = lin.open("/orders")
    page = lin.press(f"Cancel the order {order}")
    assert "You will get your money back." in page
    assert "Refund: pending" in page
    lin.page = stale
    lin.press(f"Cancel the order {order}")
    assert shop.desk.ask("stock", slug="work-gloves-m") == before
    assert [each[1:] for each in shop.desk.ask("requests_of", order_id=order)] == [["refund", "pending"]]


def test_the_receipt_of_an_agents_purchase_is_the_signed_one(shop: Shop) -> None:
    order = shop.agent("lin-8").buys("wood-glue-250")
    lin = shop.browser("lin-8")
    assert "placed by an agent of yours" in lin.open("/orders")
    answer = lin.http.get(f"/orders/{order['order_id']}/receipt")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.json()["id"] == order["receipt"]
    verdict = httpx.post(
        f"{shop.origin}/agent-actions/receipts/verify", json={"receipt": answer.json()}, trust_env=False
    )
    assert verdict.json()["valid"] is True
    assert shop.browser("lin-9").http.get(f"/orders/{order['order_id']}/receipt").status_code == 404


def test_long_lists_come_in_pages(shop: Shop) -> None:
    for _ in range(11):
        shop.desk.ask("order_of", name="lin-10", products={"basil-seeds": 1})
    lin = shop.browser("lin-10")
    assert lin.open("/orders").count('class="order"') == 10
    assert "Page 1 of 2" in lin.page
    for last in ("2", "99"):
        assert lin.open(f"/orders?page={last}").count('class="order"') == 1
    assert lin.open("/orders?page=x").count('class="order"') == 10


def test_nobody_touches_what_is_somebody_elses(shop: Shop) -> None:
    order = shop.desk.ask("order_of", name="vera", products={"basil-seeds": 1})
    vera, otto = shop.browser("vera"), shop.browser("otto")
    vera.open("/products/earl-grey-100")
    page = vera.press("Add to cart")
    cart = re.search(r'name="cart" value="(ct_[\w-]+)"', page)
    assert cart is not None
    otto.open("/cart")
    assert status(otto, f"/orders/{order}/cancel") == 404
    assert status(otto, "/cart/order", cart=cart[1], currency="USD", price="100") == 404
    assert otto.http.get(f"/orders/{order}/receipt").status_code == 404
    for path in ("/", "/cart", "/orders", "/products/earl-grey-100"):
        assert order not in otto.open(path)
        assert cart[1] not in otto.page
    assert order in vera.open("/orders")


def test_pages_of_ones_own_are_kept_by_no_cache(shop: Shop) -> None:
    lin = shop.browser("lin-11")
    for path in ("/cart", "/orders"):
        assert "no-store" in lin.http.get(path).headers["Cache-Control"]


def test_what_a_reviewer_wrote_is_escaped(shop: Shop) -> None:
    shop.agent("lin-12").does(
        "reviews_create", product="stapler-desk", stars=2, text="<script>alert(1)</script>"
    )
    page = httpx.get(f"{shop.origin}/products/stapler-desk", trust_env=False).text
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert 'aria-label="2 of 5 stars"' in page


@pytest.mark.parametrize(
    ("path", "name", "most"),
    [
        ("/", None, 2),
        ("/?q=tea", None, 1),
        ("/", "count-1", 5),
        ("/products/basil-seeds", "count-1", 8),
        ("/cart", "count-1", 6),
        ("/orders", "count-1", 8),
        ("/control-panel", "staff", 7),
    ],
)
def test_a_page_takes_few_queries(shop: Shop, path: str, name: str | None, most: int) -> None:
    answer, few = shop.queries(path, name=name)
    assert answer == 200
    assert few <= most


def test_longer_lists_take_no_more_queries(shop: Shop) -> None:
    def counts() -> list[int]:
        pages = [("/cart", "count-2"), ("/orders", "count-2"), ("/control-panel", "staff")]
        return [shop.queries(path, name=name)[1] for path, name in pages]

    def fill(*slugs: str) -> None:
        order = shop.desk.ask("order_of", name="count-2", products=dict.fromkeys(slugs, 1))
        shop.desk.ask("cancel", name="count-2", order_id=order)
        shop.desk.ask("order_of", name="count-2", products=dict.fromkeys(slugs, 1))
        helper = shop.helper("count-2", "cart:write")
        for slug in slugs:
            assert helper.invokes("add_to_cart", {"product_id": slug, "quantity": "1"})[0] == 200

    fill("basil-seeds")
    few = counts()
    fill("earl-grey-100", "wood-glue-250", "ring-binder-a4")
    assert counts() == few
