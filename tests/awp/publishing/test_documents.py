"""The builders: each document as a whole, from facts that a test writes down."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from agentweb.aim import openapi
from agentweb.awp import budgets
from agentweb.awp.publishing import (
    description,
    discovery,
    full_manifest,
    functions,
    instructions,
    llms,
    structure,
    summary,
)
from agentweb.awp.publishing.content_map import ContentMap, content_map
from agentweb.awp.publishing.facts import Facts
from agentweb.catalog.pages import page
from agentweb.catalog.registry import registry
from agentweb.catalog.words import action
from agentweb.http.documents import Place
from agentweb.wire.errors import ServerError
from agentweb.wire.json_writing import dumps
from tests.awp.pages import entry

PLACE = Place("https://shop.example", "shop.example")
UPDATED = datetime.fromisoformat("2026-11-30T06:00:00+00:00")
FACTS = Facts(
    place=PLACE,
    language="en",
    name=None,
    description=None,
    summary=None,
    instructions=None,
    pages=(),
    actions=(),
    content=ContentMap((), None),
    doors={},
    registration=None,
    anonymous_rate=(2, 60),
    caller_rate=(20, 60),
)
ROOMS = {
    "agent_actions": "/.well-known/agent-actions.json",
    "invoke": "/__aim/invoke",
    "aim": "/.well-known/aim.json",
    "pages": "/sitemap.agents.json",
    "awp_search": "/awp/search",
    "awp_analytics": "/awp/analytics.json",
    "mcp": "/mcp",
}


@pytest.fixture
def shop() -> Any:
    """A site with two pages, two actions and three pages of content."""
    with registry.only():
        page("/", title="The Tea Shop", description="Tea, and what goes with it.")
        page("/cart", title="Cart", description="What is in the cart.")

        @action(
            description="Find tea. Best first.",
            method="GET",
            input={"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
            output={"type": "object", "description": "What was found."},
            tags=["tea"],
        )
        def find_tea(inp: Any, ctx: Any) -> Any:
            return {}

        @action(description="Buy it.", effect="write", scope="tea:buy", input=None)
        def buy_tea(_inp: Any, ctx: Any) -> Any:
            return {}

        found = content_map(
            [
                entry("index", title="The Tea Shop"),
                entry("about", description="Who we\nare."),
                entry("tea/green", section="tea", title="Green [fresh]", tokens=2500, parts=2),
            ],
            UPDATED,
            {"index", "cart"},
        )
        yield replace(
            FACTS,
            pages=registry.pages(),
            actions=registry.actions(),
            content=found,
            doors=ROOMS,
            registration="/__aim/sessions",
        )


@pytest.mark.requirement(
    "AWP-2.3", "AWP-2.4", "AWP-2.5", "AWP-2.8", "AWP-2.10", "AWP-2.12", "AWP-2.13", "AWP-2.15", "AWP-2.16"
)
def test_the_discovery_manifest_of_a_shop(shop: Facts) -> None:
    document = discovery.manifest(shop)
    assert document == {
        "version": "1.0",
        "name": "The Tea Shop",
        "description": "The Tea Shop: Tea, and what goes with it. Its pages: Cart. 3 pages can be read as Markdown. "
        "Agents can call 2 actions: Buy tea, Find tea.",
        "capabilities": ["content", "api", "search", "mcp", "analytics"],
        "endpoints": {
            "manifest": "/awp/manifest.json",
            "content": "/awp/content/structure.json",
            "api": "/awp/api/tools/functions.json",
            "mcp": "/mcp",
        },
        "authentication": {
            "required": False,
            "methods": ["agent-grant", "bearer", "aim-signature"],
            "registration": "/__aim/sessions",
        },
        "rate_limits": {"requests_per_minute": 60},
        "llms_txt": "/llms.txt",
        "updated_at": "2026-11-30T06:00:00Z",
    }
    assert discovery.problems(document) == []


def test_a_site_with_nothing_has_a_valid_manifest_that_says_so() -> None:
    document = discovery.checked(discovery.manifest(FACTS))
    assert document == {
        "version": "1.0",
        "name": "shop.example",
        "description": "shop.example is a site that agents can read and use.",
        "capabilities": ["content"],
        "endpoints": {"manifest": "/awp/manifest.json", "content": "/awp/content/structure.json"},
        "authentication": {"required": False},
        "rate_limits": {"requests_per_minute": 60},
        "llms_txt": "/llms.txt",
    }


@pytest.mark.parametrize(
    ("missing", "capability"),
    [("mcp", "mcp"), ("awp_search", "search"), ("awp_analytics", "analytics")],
)
@pytest.mark.requirement("AWP-1.3", "AWP-2.9")
def test_a_capability_is_there_only_while_something_answers(
    shop: Facts, missing: str, capability: str
) -> None:
    doors = {name: path for name, path in ROOMS.items() if name != missing}
    assert capability in discovery.capabilities(shop)
    assert capability not in discovery.capabilities(replace(shop, doors=doors))


@pytest.mark.requirement("AWP-1.2")
def test_without_actions_there_is_no_api(shop: Facts) -> None:
    document = discovery.manifest(replace(shop, actions=()))
    assert "api" not in document["capabilities"]
    assert "api" not in document["endpoints"]


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        (((2, 60), (20, 60)), {"requests_per_minute": 60}),
        (((2, 200), (20, 300)), {"requests_per_minute": 120}),
        (((20, 10), (0.5, 100)), {"requests_per_minute": 10}),
        (((0.5, 100), (20, 60)), {"requests_per_minute": 30}),
        (((0.001, 5), (20, 60)), {"requests_per_day": 5}),
        (((0.0001, 50), (20, 60)), {"requests_per_day": 8}),
    ],
)
@pytest.mark.requirement("AWP-2.14")
def test_the_limit_that_is_told_passes_however_it_is_spread(rates: Any, said: dict[str, int]) -> None:
    assert discovery.rate_limits(*rates) == said


def test_a_manifest_that_breaks_the_schema_is_not_served(shop: Facts) -> None:
    with pytest.raises(ServerError) as raised:
        discovery.checked(discovery.manifest(replace(shop, description="Tea.")))
    assert (raised.value.code, raised.value.status) == ("manifest_invalid", 500)
    assert "/description" in str(raised.value.debug)
    assert "/description" not in raised.value.message


@pytest.mark.requirement("AWP-4.4")
def test_a_long_description_is_cut_after_a_sentence_and_stands_in_the_summary(shop: Facts) -> None:
    long = " ".join(f"This is sentence number {number} about tea." for number in range(60))
    found = description.description(replace(shop, description=long, summary="# Tea"))
    assert found.tokens <= 200
    assert found.text.endswith("about tea. More: /awp/content/summary.md")
    assert summary.source(replace(shop, description=long, summary="# Tea")).endswith(long)
    assert summary.source(replace(shop, description="A tea shop.", summary="# Tea")) == "# Tea"


@pytest.mark.requirement("AWP-5.7", "AWP-6.4")
def test_the_full_manifest_names_each_page_and_the_other_rooms(shop: Facts) -> None:
    document = full_manifest.document(shop)
    assert document.items() >= discovery.manifest(shop).items()
    assert document["content"][2] == {
        "path": "/tea/green/",
        "url": "https://shop.example/awp/content/tea/green.md",
        "title": "Green [fresh]",
        "description": "",
        "parts": 2,
        "tokens": 2500,
        "updated_at": "2026-11-01T08:00:00Z",
    }
    assert [each["path"] for each in document["content"]] == ["/index/", "/about/", "/tea/green/"]
    assert document["content_pages"] == 3
    assert document["sections"][1] == {
        "id": "tea",
        "title": "Tea",
        "count": 1,
        "tokens": 2500,
        "url": "https://shop.example/awp/content/sections/tea.json",
    }
    assert {name: document[name] for name in ("functions", "pages", "actions", "aim", "search")} == {
        "functions": "https://shop.example/awp/api/tools/functions.json",
        "pages": "https://shop.example/sitemap.agents.json",
        "actions": "https://shop.example/.well-known/agent-actions.json",
        "aim": "https://shop.example/.well-known/aim.json",
        "search": "https://shop.example/awp/search",
    }


@pytest.mark.requirement("AWP-3.2", "AWP-3.3", "AWP-3.5", "AWP-3.6", "AWP-3.7")
def test_functions_are_as_the_protocol_s_example_has_them(shop: Facts) -> None:
    document = functions.document(shop)
    assert document["version"] == "1.0"
    assert document["functions"] == [
        {
            "name": "buy_tea",
            "description": "Buy it.",
            "method": "POST",
            "path": "/agent/buy_tea",
            "parameters": registry.actions()[0].input_schema,
            "returns": {},
            "tags": [],
            "auth_required": True,
        },
        {
            "name": "find_tea",
            "description": "Find tea. Best first.",
            "method": "GET",
            "path": "/agent/find_tea",
            "parameters": registry.actions()[1].input_schema,
            "returns": {"type": "object", "description": "What was found."},
            "tags": ["tea"],
            "auth_required": False,
        },
    ]


@pytest.mark.requirement("AWP-4.9")
def test_a_long_description_of_a_function_points_to_the_manifest_that_has_it_whole(shop: Facts) -> None:
    action(description="It is about tea and nothing else at all. " * 22)(handler)
    facts = replace(shop, actions=registry.actions())
    found = next(each for each in functions.document(facts)["functions"] if each["name"] == "handler")
    assert budgets.count(found["description"]) <= 150
    assert found["description"].endswith("at all. More: /.well-known/agent-actions.json")


@pytest.mark.requirement("AWP-4.8")
def test_the_descriptions_of_operations_in_openapi_are_within_their_budget() -> None:
    described = [
        operation["description"]
        for item in openapi.document(PLACE)["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict)
    ]
    assert len(described) > 10
    assert all(0 < budgets.count(text) <= budgets.API_DESCRIPTION.tokens for text in described)


def handler(inp: None, ctx: Any) -> Any:
    return {}


@pytest.mark.requirement("AWP-5.11")
def test_the_structure_is_a_tree_of_pages_and_sections_with_theirs(shop: Facts) -> None:
    page("/cart/gifts", title="Gifts")
    page("/cart-help", title="Help")
    document = structure.document(replace(shop, pages=registry.pages()))

    def shape(nodes: list[dict[str, Any]]) -> Any:
        return [(each["path"], shape(each["children"])) for each in nodes]

    assert shape(document["navigation"]) == [
        ("/", []),
        ("/about/", []),
        ("/cart", [("/cart/gifts", [])]),
        ("/cart-help", []),
        ("/index/", []),
    ]
    assert document["navigation"][0]["url"] == "https://shop.example/awp/content/index.md"
    assert document["navigation"][2]["url"] == "https://shop.example/cart"
    assert document["sections"][1] == {
        "id": "tea",
        "title": "Tea",
        "count": 1,
        "tokens": 2500,
        "url": "https://shop.example/awp/content/sections/tea.json",
        "pages": [
            {
                "path": "/tea/green/",
                "url": "https://shop.example/awp/content/tea/green.md",
                "title": "Green [fresh]",
                "tokens": 2500,
            }
        ],
    }


def test_llms_txt_has_the_form_of_its_specification(shop: Facts) -> None:
    assert llms.text(shop) == (
        "# The Tea Shop\n\n"
        "> The Tea Shop: Tea, and what goes with it. Its pages: Cart. 3 pages can be read as Markdown. Agents can call "
        "2 actions: Buy tea, Find tea.\n\n"
        "## Pages\n\n"
        "- [The Tea Shop](https://shop.example/awp/content/index.md)\n"
        "- [About](https://shop.example/awp/content/about.md): Who we are.\n\n"
        "## Tea\n\n"
        "- [Green \\[fresh\\]](https://shop.example/awp/content/tea/green.md)\n\n"
        "## Actions\n\n"
        "- [2 actions that agents can call](https://shop.example/awp/api/tools/functions.json)\n\n"
        "## Optional\n\n"
        "- [Summary](https://shop.example/awp/content/summary.md)\n"
        "- [Instructions for agents](https://shop.example/awp/instructions.md)\n"
        "- [All pages by section](https://shop.example/awp/content/structure.json)\n"
        "- [The text of all pages](https://shop.example/llms-full.txt)\n"
    )


@pytest.mark.parametrize("name", ["Shop", "A shop of many words " * 4, "𐎠𐎡" * 50])
@pytest.mark.parametrize("sentence", ["Tea for all.", "茶はおいしいです。", "x" * 500 + ". "])
@pytest.mark.requirement("AWP-4.10")
def test_the_intro_of_llms_txt_is_within_its_budget(shop: Facts, name: str, sentence: str) -> None:
    facts = replace(shop, name=name.strip(), description=sentence * 100)
    intro = llms.intro(facts)
    assert budgets.count(intro) <= 200
    assert intro.endswith("More: /awp/content/summary.md")
    assert discovery.problems(discovery.manifest(facts)) == []


@pytest.mark.requirement("AWP-4.6", "AWP-5.9", "AWP-5.13")
def test_made_texts_are_within_their_budgets_however_much_there_is(shop: Facts) -> None:
    for number in range(200):
        action(
            f"do_thing_number_{number:03}",
            description=f"Does the thing of number {number} for whoever asks for it.",
        )(handler)
        page(
            f"/pages/{number:03}",
            title=f"A page with a long title, number {number}",
            description="About it. " * 9,
        )
    facts = replace(shop, pages=registry.pages(), actions=registry.actions())
    assert budgets.count(summary.source(facts)) <= budgets.SUMMARY.tokens
    assert budgets.count(instructions.source(facts)) <= budgets.INSTRUCTIONS.tokens
    assert not description.description(facts).is_cut
    assert "All 202 actions" in summary.source(facts)


def test_instructions_speak_only_of_what_is_there(shop: Facts) -> None:
    everything = instructions.source(shop)
    assert "/awp/search?q=words" in everything
    assert "/.well-known/aim.json" in everything
    assert "auth_required" in everything
    nothing = instructions.source(FACTS)
    assert not any(
        word in nothing for word in ("search?q", "aim.json", "auth_required", "functions", "part=2")
    )


def test_the_texts_of_the_settings_are_taken_as_they_are(shop: Facts) -> None:
    facts = replace(shop, name="Tea & Co", description="We sell tea.", summary="# S", instructions="Ask.")
    assert discovery.manifest(facts)["name"] == "Tea & Co"
    assert discovery.manifest(facts)["description"] == "We sell tea."
    assert (summary.source(facts), instructions.source(facts)) == ("# S", "Ask.")


# -- large sites


def large(sections: int, pages: int) -> ContentMap:
    return content_map(
        (
            entry(
                f"section-{section}/page-{number:05}",
                section=f"section-{section:04}",
                title=f"A page of a usual title, number {number}",
                description="What the page says in a sentence of a usual length, which is about this long. "
                * 3,
            )
            for section in range(sections)
            for number in range(pages)
        ),
        UPDATED,
    )


@pytest.mark.parametrize(("sections", "pages"), [(1, 10_000), (10, 1_000), (2_000, 5)])
def test_the_lists_of_a_site_of_10_000_pages_are_of_a_size_that_can_be_read(
    shop: Facts, sections: int, pages: int
) -> None:
    facts = replace(shop, content=large(sections, pages))
    full, tree = full_manifest.document(facts), structure.document(facts)
    assert len(full["content"]) <= 500
    assert len(full["content"]) > 250
    assert full["content_pages"] == 10_000
    assert sum(each["count"] for each in full["sections"]) == 10_000
    assert len(full["sections"]) <= 100
    assert sum(len(each["pages"]) for each in tree["sections"]) == len(full["content"])
    assert len(dumps(full)) < 400_000
    assert len(dumps(tree)) < 200_000
    assert len(llms.text(facts)) < 250_000
    cut = next(each for each in facts.content.sections if not each.is_whole)
    assert f"All {cut.pages:,} pages of this section" in llms.text(facts)


def test_a_small_section_is_listed_whole_beside_a_large_one() -> None:
    entries = [entry(f"a/{number}", section="a") for number in range(1_000)]
    found = content_map([*entries, *(entry(f"b/{number}", section="b") for number in range(20))], None)
    whole = {section.id: section.is_whole for section in found.sections}
    assert whole == {"a": False, "b": True}
    assert sum(len(section.entries) for section in found.sections) == 500


def test_up_to_500_pages_every_list_is_whole() -> None:
    entries = [entry(f"{name}/{number}", section=name) for name in "abcde" for number in range(100)]
    assert content_map(entries, None).is_whole


def test_the_list_of_a_section_comes_in_parts_with_nothing_left_out(shop: Facts) -> None:
    found = large(1, 1_201)
    facts = replace(shop, content=found)
    entries = [entry(f"p-{number}") for number in range(1_201)]
    listed, part, sizes = [], 1, []
    while True:
        document = structure.section_document(facts, found.sections[0], entries, part=part)
        listed += [each["path"] for each in document["pages"]]
        sizes.append(len(document["pages"]))
        if document["next"] is None:
            break
        assert document["next"].endswith(f"/awp/content/sections/section-0000.json?part={part + 1}")
        part += 1
    assert listed == [each.path for each in entries]
    assert sizes == [500, 500, 201]
    assert structure.parts_of(1_201) == 3
