"""The word ``page``: what it publishes, and each fault of a declaration under its id."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils.translation import gettext_lazy

from agentweb import action, page
from agentweb.catalog.faults import Fault
from agentweb.catalog.pages import Page
from agentweb.catalog.registry import registry
from agentweb.testing import catalog
from tests.catalog.declarations import handler


def declared(path: Any = "/cart", **words: Any) -> tuple[Page | None, list[Fault]]:
    """The page, if it was published, and the faults of its declaration."""
    words.setdefault("title", "Cart")
    with registry.only():
        page(path, **words)
        pages = registry.pages()
        return (pages[0] if pages else None), registry.faults()


def published(path: Any = "/cart", **words: Any) -> Page:
    found, faults = declared(path, **words)
    assert found is not None, faults
    assert faults == []
    return found


def refused(path: Any = "/cart", **words: Any) -> Fault:
    """The only fault of a declaration that was not published."""
    found, faults = declared(path, **words)
    assert found is None
    assert len(faults) == 1, faults
    return faults[0]


def test_a_page_is_published_as_it_was_written() -> None:
    def shown(ctx: Any) -> Any:
        return {}

    found = published("/orders/<int:pk>/", title="Order", description="One.", state=shown, markdown="# Order")
    assert (found.path, found.title, found.description) == ("/orders/<int:pk>", "Order", "One.")
    assert (found.state, found.markdown, found.permission) == (shown, "# Order", None)
    assert (found.actions, found.browser_actions, found.parameters) == ((), (), ("pk",))
    assert found.where == "tests.catalog.test_pages: page '/orders/<int:pk>/'"


def test_pages_are_listed_by_path_and_change_the_version() -> None:
    with registry.only():
        before = registry.version
        for path in ("/orders", "/", "/cart"):
            page(path, title="A page")
        assert [each.path for each in registry.pages()] == ["/", "/cart", "/orders"]
        assert registry.version > before
        assert registry.faults() == []


def test_a_page_may_be_declared_before_its_actions() -> None:
    with registry.only():
        page("/cart", title="Cart", actions=["one"])
        assert [each.id for each in registry.faults()] == ["agentweb.E062"]
        action("one")(handler)
        assert registry.pages()[0].actions == ("one",)
        assert registry.faults() == []


def test_texts_may_be_translations_and_are_in_the_site_s_language() -> None:
    assert published(title=gettext_lazy("Yes")).title == "Yes"


@pytest.mark.parametrize(
    "path",
    [
        "cart", "", None, 5, "//", "/a//b", "/a/../b", "/./a", "/a b", "/a?b", "/a%20b", "/ä", "/<int:>",
        "/<1>", "/<int pk>", "/<a:b:c>", "/{id}", "/<pk>/<int:pk>", "/" + "a" * 201, "/sitemap",
        "/sitemap.agents/", "/<self>", "/<int:request>", "/a\n", "/a//",
    ],
)  # fmt: skip
def test_a_bad_path_is_refused(path: Any) -> None:
    found = refused(path)
    assert found.id == "agentweb.E061"
    assert repr(path) in found.message
    assert "'/orders/<int:pk>'" in found.hint
    assert not found.dangerous


@pytest.mark.parametrize(
    "path", ["/", "/a", "/a/", "/a.b", "/<slug>", "/<path:rest>", "/x-<int:a>-<b>", "/sitemap/x"]
)
def test_a_good_path_is_not(path: str) -> None:
    assert published(path).path == (path.rstrip("/") or "/")


@pytest.mark.parametrize(
    ("one", "other"),
    [("/cart", "/cart/"), ("/", "/index"), ("/o/<int:pk>", "/o/<int:id>"), ("/o/<slug>", "/o/<str:name>/")],
)
def test_two_pages_with_one_path_are_refused_and_stop_the_start(one: str, other: str) -> None:
    with registry.only():
        page(one, title="One")
        page(other, title="Other")
        (found,) = registry.faults()
        assert [each.title for each in registry.pages()] == ["One"]
    assert found.id == "agentweb.E060"
    assert found.dangerous


def test_converters_tell_pages_apart() -> None:
    with registry.only():
        page("/o/<int:pk>", title="One")
        page("/o/<slug:pk>", title="Other")
        assert len(registry.pages()) == 2


@pytest.mark.parametrize("title", ["", "  ", None, 5, "a" * 101])
def test_a_bad_title_is_refused(title: Any) -> None:
    assert refused(title=title).id == "agentweb.E029"


@pytest.mark.parametrize("description", ["", "a" * 1_025, 5])
def test_a_bad_description_is_refused(description: Any) -> None:
    assert refused(description=description).id == "agentweb.E026"


@pytest.mark.parametrize("word", ["state", "markdown"])
@pytest.mark.parametrize("given", [5, {"a": 1}, lambda: None, lambda one, two: None])
def test_what_cannot_be_called_with_a_context_is_refused(word: str, given: Any) -> None:
    found = refused(**{word: given})
    assert found.id == "agentweb.E063"
    assert found.message.startswith(f"{word}=")


def test_state_and_markdown_may_be_async() -> None:
    async def shown(ctx: Any) -> Any:
        return {}

    assert published(state=shown, markdown=shown).state is shown


async def never(user: Any) -> bool:
    return False


@pytest.mark.parametrize(
    "given",
    ["staff", lambda: True, never, lambda user: True, lambda user, pk, other: True],
    ids=["no function", "takes nobody", "async", "misses a parameter", "asks for more"],
)
def test_a_permission_that_cannot_be_asked_is_refused(given: Any) -> None:
    found = refused("/orders/<int:pk>", permission=given)
    assert found.id == "agentweb.E064"
    assert "permission(user, pk)" in found.message


@pytest.mark.parametrize(
    "given", [lambda user, pk: True, lambda user, **kwargs: True, lambda user, pk=5: True]
)
def test_a_permission_takes_the_parameters_of_the_path_by_name(given: Any) -> None:
    assert published("/orders/<int:pk>", permission=given).permission is given


@pytest.mark.parametrize("answer", [1, True, "yes"])
def test_whatever_is_true_lets_somebody_see(answer: Any) -> None:
    assert published(permission=lambda user: answer).is_visible_to(None, {})
    assert not published(permission=lambda user: None).is_visible_to(None, {})


def test_a_permission_that_turns_out_async_hides_the_page(caplog: Any) -> None:
    assert not published(permission=lambda user: never(user) or None).is_visible_to(None, {})
    assert "is async; the page is hidden" in caplog.text


@pytest.mark.parametrize("given", ["add_to_cart", [5], 5, [handler]])
def test_actions_are_a_list_of_names(given: Any) -> None:
    found = refused(actions=given)
    assert (found.id, found.hint) == ("agentweb.E062", "Write actions=['add_to_cart'].")


def test_an_action_that_is_not_published_is_named() -> None:
    found = refused(actions=["no_such"])
    assert found.id == "agentweb.E062"
    assert "'no_such'" in found.message


SORT = {"name": "sort_table", "description": "Sort the table."}


def test_a_browser_action_is_a_read_without_input_unless_it_says_more() -> None:
    [plain] = published(browser_actions=[SORT]).browser_actions
    assert (plain.name, str(plain.effect), plain.scope, plain.consequential) == (
        "sort_table",
        "read",
        None,
        False,
    )
    assert (plain.input_schema["properties"], plain.example) == ({}, {})
    [full] = published(
        browser_actions=[
            {**SORT, "effect": "send", "scope": "a:b", "input": {"type": "string"}, "example": "x"}
        ]
    ).browser_actions
    assert (str(full.effect), full.scope, full.consequential, full.example) == ("send", "a:b", True, "x")
    assert full.input.problems(5)[0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"effect": "spend", "scope": "a"},
        {"effect": "look"},
        {"effect": None},
        {"name": "Sort"},
        {"name": None},
        {"scope": "a b"},
        {"scope": "a:*"},
        {"input": {"type": "strin"}},
        {"input": {"$ref": "https://elsewhere.example/x"}},
        {"input": 5},
        {"input": {"type": "string"}, "example": 5},
        {"handler": "sortTable"},
    ],
    ids=str,
)
def test_a_browser_action_that_does_not_hold_is_refused(wrong: dict[str, Any]) -> None:
    assert refused(browser_actions=[{**SORT, **wrong}]).id == "agentweb.E065"


@pytest.mark.parametrize("given", ["sort_table", SORT, 5, None, [5], [["sort_table"]], [SORT, SORT]], ids=str)
def test_browser_actions_are_a_list_of_dicts_with_names_of_their_own(given: Any) -> None:
    assert refused(browser_actions=given).id == "agentweb.E065"


def test_a_browser_action_without_description_is_refused() -> None:
    assert refused(browser_actions=[{"name": "sort_table"}]).id == "agentweb.E026"


def test_a_browser_action_with_an_effect_and_no_scope_is_a_warning() -> None:
    found, faults = declared(browser_actions=[{**SORT, "effect": "write"}])
    assert found is not None
    assert [each.id for each in faults] == ["agentweb.W010"]


def test_a_browser_action_may_not_be_named_like_an_action() -> None:
    with registry.only():
        page("/cart", title="Cart", browser_actions=[{**SORT, "name": "thing"}])
        action("thing")(handler)
        (found,) = registry.faults()
        assert registry.pages() == ()
    assert found.id == "agentweb.E065"
    assert "tests.catalog.declarations.handler" in found.message


def test_every_fault_of_a_page_is_collected() -> None:
    _, faults = declared("cart", title="", state=5, permission=5, actions=5, browser_actions=5)
    assert sorted(each.id for each in faults) == [
        "agentweb.E029", "agentweb.E061", "agentweb.E062", "agentweb.E063", "agentweb.E064", "agentweb.E065",
    ]  # fmt: skip


def test_a_narrowed_catalog_keeps_the_pages_that_need_no_other_action() -> None:
    with registry.only():
        action("one", pages=["/a"])(handler)
        action("two", pages=["/a"])(handler)
        page("/a", title="A", actions=["one"])
        page("/b", title="B", actions=["two"])
        with catalog.only("one"):
            assert [(each.path, each.actions) for each in registry.pages()] == [("/a", ("one",))]
        assert [each.path for each in catalog.pages()] == ["/a", "/b"]
        assert catalog.pages()[0].actions == ("one", "two")
