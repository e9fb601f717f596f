"""The page for people."""

from __future__ import annotations

import httpx

from tests.demo.shopping import Shop


def get(shop: Shop, path: str) -> httpx.Response:
    return httpx.get(shop.origin + path, trust_env=False)


def test_the_front_page_lists_every_product_under_its_category(shop: Shop) -> None:
    page = get(shop, "/")
    assert page.status_code == 200
    assert page.headers["Content-Type"] == "text/html; charset=utf-8"
    assert page.text.count('<li class="card"') >= 60
    assert '<h2 id="garden">Garden</h2>' in page.text
    assert "$6.49" in page.text
    assert "¥1,200" in page.text


def test_the_front_page_is_accessible_in_its_bones(shop: Shop) -> None:
    page = get(shop, "/").text
    assert '<html lang="en">' in page
    assert page.count("<h1>") == 1
    assert '<label for="q">' in page
    assert 'href="#products"' in page
    assert 'name="viewport"' in page
    assert "prefers-color-scheme: dark" in get(shop, "/static/shop/shop.css").text


def test_the_search_of_the_front_page_shows_what_matches_and_escapes_the_rest(shop: Shop) -> None:
    page = get(shop, "/?q=%3Cscript%3Ehammer").text
    assert "<script>" not in page
    assert "&lt;script&gt;hammer" in page
    assert "Claw hammer" in page
    assert "Earl Grey" not in page


def test_the_front_page_only_reads(shop: Shop) -> None:
    assert httpx.post(shop.origin + "/", trust_env=False).status_code in {403, 405}
