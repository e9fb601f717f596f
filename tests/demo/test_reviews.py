"""Reviews: a REST API of the shop, and the same views for agents."""

from __future__ import annotations

import httpx

from tests.demo.shopping import Shop


def over_http(shop: Shop, product: str) -> tuple[int, object]:
    answer = httpx.get(f"{shop.origin}/api/products/{product}/reviews/", trust_env=False)
    return answer.status_code, answer.json()


def test_a_person_reviews_by_an_agent_and_everybody_reads(shop: Shop) -> None:
    ada, bob = shop.agent("ada"), shop.agent("bob")
    review = ada.does("reviews_create", product="hojicha-100", stars=5, text="Roasted just right.")
    assert (review["author"], review["stars"]) == ("ada", 5)
    read = bob.does("reviews_list", product="hojicha-100")
    assert read["results"] == [review]
    assert over_http(shop, "hojicha-100") == (200, read)
    assert over_http(shop, "wood-glue-250") == (
        200,
        {"count": 0, "next": None, "previous": None, "results": []},
    )
    assert over_http(shop, "no-such-thing")[0] == 404
    assert bob.is_refused("reviews_list", product="no-such-thing")["code"] == "not_found"


def test_a_product_is_reviewed_once_by_a_person(shop: Shop) -> None:
    ada, other = shop.agent("ada"), shop.agent("ada")
    ada.does("reviews_create", product="wood-glue-250", stars=1)
    again = other.is_refused("reviews_create", product="wood-glue-250", stars=2)
    assert [(each["pointer"], each["code"]) for each in again["problems"]] == [("", "already_reviewed")]
    wrong = other.is_refused("reviews_create", product="wood-glue-250", stars=6, text=3)
    assert [each["pointer"] for each in wrong["problems"]] == ["/stars", "/text"]


def test_only_its_author_deletes_a_review(shop: Shop) -> None:
    ada, bob, nobody = shop.agent("ada"), shop.agent("bob"), shop.agent()
    review = ada.does("reviews_create", product="hammer-claw-450", stars=4)
    where = {"product": "hammer-claw-450", "pk": review["id"]}
    assert bob.is_refused("reviews_destroy", **where)["code"] == "not_allowed"
    assert nobody.is_refused("reviews_create", product="hammer-claw-450", stars=4)["code"] == "not_allowed"
    elsewhere = {"product": "wood-glue-250", "pk": review["id"]}
    assert ada.is_refused("reviews_destroy", **elsewhere)["code"] == "not_found"
    assert ada.does("reviews_destroy", **where) is None
    assert ada.does("reviews_list", product="hammer-claw-450")["count"] == 0
