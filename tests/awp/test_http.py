"""The endpoint contracts of AWP over HTTP: types, headers, caching, methods and errors, for every address."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import clear_script_prefix, include, path, set_script_prefix

from agentweb.awp import protocol, views
from agentweb.awp.content.models import ContentPage, ContentPart
from agentweb.awp.publishing import content_map, published
from agentweb.awp.search import indexing
from agentweb.catalog.pages import page
from agentweb.catalog.registry import registry
from agentweb.catalog.words import action
from agentweb.wire import clock
from agentweb.wire.errors import Code, RequestError
from agentweb.wire.tokens import count
from tests.awp.pages import end_run, write_page
from tests.support.web import send

pytestmark = pytest.mark.usefixtures("awp")

JSON = "application/json; charset=utf-8"
MARKDOWN = "text/markdown; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"
WELL_KNOWN = f"/{protocol.WELL_KNOWN}"
DOCUMENTS = {
    WELL_KNOWN: JSON,
    "/awp/manifest.json": JSON,
    "/awp/content/summary.md": MARKDOWN,
    "/awp/content/structure.json": JSON,
    "/awp/content/sections/pages.json": JSON,
    "/awp/content/tea.md": MARKDOWN,
    "/awp/instructions.md": MARKDOWN,
    "/awp/api/tools/functions.json": JSON,
    "/llms.txt": PLAIN,
    "/llms-full.txt": PLAIN,
}
ELSEWHERE = "https://elsewhere.example"
PREFLIGHT = {"Origin": ELSEWHERE, "Access_Control_Request_Method": "GET"}


@pytest.fixture(autouse=True)
def content(awp: None) -> None:
    write_page("tea", "# Tea\n\nGreen.", title="Tea", description="About tea.")
    end_run()


def loads(response: Any) -> Any:
    return json.loads(response.content)


def assert_is_of_awp(response: Any) -> None:
    assert response["X-AWP-Version"] == "1.0"
    assert response["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in response.headers
    assert "X-AWP-Version" in response["Access-Control-Expose-Headers"]


@pytest.mark.parametrize("address", DOCUMENTS)
@pytest.mark.requirement(
    "AWP-1.1",
    "AWP-2.1",
    "AWP-3.1",
    "AWP-5.1",
    "AWP-5.4",
    "AWP-5.5",
    "AWP-5.6",
    "AWP-5.8",
    "AWP-5.10",
    "AWP-5.12",
)
def test_a_document_has_its_type_its_headers_and_an_hour(address: str) -> None:
    response = send("GET", address, Origin=ELSEWHERE)
    assert response.status_code == 200
    assert response["Content-Type"] == DOCUMENTS[address]
    assert response["Cache-Control"] == "public, max-age=3600"
    assert not {"RateLimit", "RateLimit-Policy", "Set-Cookie"} & set(response.headers)
    assert_is_of_awp(response)


@pytest.mark.parametrize("address", DOCUMENTS)
def test_who_has_a_document_gets_304_with_the_same_headers(address: str) -> None:
    first = send("GET", address)
    assert first["ETag"].startswith('"')
    again = send("GET", address, If_None_Match=first["ETag"])
    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == first["ETag"]
    assert again["Cache-Control"] == "public, max-age=3600"
    assert_is_of_awp(again)


@pytest.mark.parametrize("address", DOCUMENTS)
def test_head_is_get_without_its_content(address: str) -> None:
    there, head = send("GET", address), send("HEAD", address)
    assert (head.status_code, head.content) == (200, b"")
    assert head["Content-Length"] == str(len(there.content))
    assert head["ETag"] == there["ETag"]
    assert_is_of_awp(head)


@pytest.mark.parametrize("address", DOCUMENTS)
def test_other_methods_are_refused_and_told_which_are_not(address: str) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE"):
        response = send(method, address)
        assert response.status_code == 405
        assert response["Allow"] == "GET, HEAD, OPTIONS"
        assert response["Cache-Control"] == "no-store"
        assert loads(response)["error"]["code"] == "method_not_allowed"
        assert_is_of_awp(response)


@pytest.mark.parametrize(
    "address", [*DOCUMENTS, "/awp/search", "/awp/nothing", "/awp/content/none.md", "/awp"]
)
@pytest.mark.requirement("AWP-5.2")
def test_options_and_preflights_are_answered_everywhere(address: str) -> None:
    preflight = send("OPTIONS", address, **PREFLIGHT)
    assert preflight.status_code == 204
    assert "Agent-Grant" in preflight["Access-Control-Allow-Headers"]
    assert_is_of_awp(preflight)
    if address in DOCUMENTS:
        options = send("OPTIONS", address)
        assert (options.status_code, options["Allow"]) == (204, "GET, HEAD, OPTIONS")
        assert_is_of_awp(options)


@pytest.mark.parametrize(
    "address",
    [
        "/awp",
        "/awp/",
        "/awp/nothing",
        "/awp/content/none.md",
        "/awp/content/tea.md?part=2",
        "/awp/content/tea.html",
        "/awp/content/sections/none.json",
        "/awp/content/sections/pages.json?part=2",
        "/awp/content/summary.md?part=99",
        "/llms-full.txt?part=2",
    ],
)
@pytest.mark.requirement("AWP-6.5")
def test_what_is_nothing_is_404_in_json(address: str) -> None:
    for method in ("GET", "HEAD"):
        response = send(method, address)
        assert response.status_code == 404
        assert response["Content-Type"] == JSON
        assert response["Cache-Control"] == "no-store"
        assert_is_of_awp(response)
    assert loads(send("GET", address))["error"]["code"] == "not_found"


@pytest.mark.parametrize("part", ["0", "-1", "x", "1.5", "", "1&part=2", "9" * 20, "%00"])
@pytest.mark.parametrize("address", ["/awp/content/tea.md", "/awp/content/summary.md", "/llms-full.txt"])
def test_a_part_that_is_no_number_is_400(address: str, part: str) -> None:
    response = send("GET", f"{address}?part={part}")
    assert response.status_code == 400
    assert response["Cache-Control"] == "no-store"
    assert_is_of_awp(response)


def test_a_crash_is_500_with_the_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*args: Any) -> Any:
        raise RuntimeError("hunter2")

    monkeypatch.setattr(views.languages, "readable", crash)
    response = send("GET", "/awp/manifest.json")
    assert response.status_code == 500
    assert response["Cache-Control"] == "no-store"
    assert b"hunter2" not in response.content
    assert_is_of_awp(response)


def test_a_limit_is_429_with_the_headers() -> None:
    class Busy(views.AwpView):
        def get(self, request: Any, **captured: Any) -> Any:
            raise RequestError(Code.RATE_LIMITED, "Wait.", retry_after=3)

    response = Busy.as_view()(RequestFactory().get("/awp/busy"))
    assert (response.status_code, response["Retry-After"]) == (429, "3")
    assert response["Cache-Control"] == "no-store"
    assert_is_of_awp(response)


@pytest.fixture
def cors_policy(settings: Any) -> Any:
    settings.MIDDLEWARE = ["corsheaders.middleware.CorsMiddleware", *settings.MIDDLEWARE]
    settings.CORS_ALLOWED_ORIGINS = ["https://friend.example"]
    settings.CORS_ALLOW_CREDENTIALS = True
    return settings


@pytest.mark.parametrize("address", [*DOCUMENTS, "/awp/nothing", "/awp/search"])
@pytest.mark.parametrize("origin", ["https://friend.example", ELSEWHERE])
def test_a_site_s_own_cors_policy_does_not_reach_any_answer(
    cors_policy: Any, address: str, origin: str
) -> None:
    first = send("GET", address, Origin=origin)
    assert_is_of_awp(first)
    assert_is_of_awp(send("POST", address, Origin=origin))
    if "ETag" in first:
        assert_is_of_awp(send("GET", address, Origin=origin, If_None_Match=first["ETag"]))


@pytest.mark.parametrize("address", [*DOCUMENTS, "/awp/nothing"])
def test_preflights_are_ours_with_the_regex_that_the_check_gives(cors_policy: Any, address: str) -> None:
    from agentweb.awp.checks import check_cors

    (warning,) = check_cors(None)
    cors_policy.CORS_URLS_REGEX = str(warning.hint).partition('r"')[2].rstrip('"')
    assert check_cors(None) == []
    response = send("OPTIONS", address, **{**PREFLIGHT, "Origin": "https://friend.example"})
    assert response.status_code == 204
    assert_is_of_awp(response)


@pytest.mark.parametrize("address", [*DOCUMENTS, "/awp/nothing"])
def test_preflights_are_ours_with_our_middleware_in_place_of_django_cors_headers(
    cors_policy: Any, address: str
) -> None:
    from agentweb.awp.checks import check_cors

    cors_policy.MIDDLEWARE = ["agentweb.middleware.CorsMiddleware", *cors_policy.MIDDLEWARE[1:]]
    assert check_cors(None) == []
    response = send("OPTIONS", address, **{**PREFLIGHT, "Origin": "https://friend.example"})
    assert response.status_code == 204
    assert_is_of_awp(response)
    assert_is_of_awp(send("GET", address, Origin="https://friend.example"))


def test_both_slash_forms_answer() -> None:
    for address in DOCUMENTS:
        assert send("GET", f"{address}/").content == send("GET", address).content


@pytest.mark.parametrize("address", DOCUMENTS)
@pytest.mark.requirement("AWP-5.3")
def test_nobody_s_credentials_change_a_document_or_are_looked_at(address: str) -> None:
    plain = send("GET", address)
    for headers in (
        {"Authorization": "Bearer agw_" + 43 * "A"},
        {"Cookie": f"sessionid={'x' * 32}"},
        {"Agent_Grant": "x", "Signature": "x"},
    ):
        response = send("GET", address, **headers)
        assert (response.status_code, response.content) == (200, plain.content)
        assert "Cookie" not in response.get("Vary", "")


def test_a_warm_document_costs_no_query(many_callers: None) -> None:
    cold = [address for address in DOCUMENTS if address != "/awp/content/tea.md"]
    for address in cold:
        send("GET", address)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        for address in cold:
            assert send("GET", address).status_code == 200
    assert [each["sql"] for each in queries] == []


def test_a_page_of_content_costs_one_query() -> None:
    with CaptureQueriesContext(connection) as queries:
        assert send("GET", "/awp/content/tea.md").content == b"# Tea\n\nGreen."
    assert len(queries) == 1


def test_what_a_run_changes_is_seen_within_five_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    before = send("GET", "/awp/content/structure.json").content
    at = clock.now()
    write_page("coffee", "Black.")
    from agentweb.awp.content.models import ContentRun

    ContentRun.objects.update(changes=2)
    monkeypatch.setattr(content_map, "now", lambda: at + 4.9)
    assert send("GET", "/awp/content/structure.json").content == before
    monkeypatch.setattr(content_map, "now", lambda: at + 5.1)
    assert b"coffee" in send("GET", "/awp/content/structure.json").content


def test_a_longer_page_comes_in_parts_that_name_each_other() -> None:
    write_page("long", "One.", "Two.", "Three.", path="/long/")
    first, second, third = (send("GET", f"/awp/content/long.md?part={number}") for number in (1, 2, 3))
    assert send("GET", "/awp/content/long.md").content == first.content
    assert first["Link"] == '</awp/content/long.md?part=2>; rel="next"'
    assert second["Link"] == '</awp/content/long.md>; rel="prev", </awp/content/long.md?part=3>; rel="next"'
    assert third["Link"] == '</awp/content/long.md?part=2>; rel="prev"'
    assert first.content.decode().startswith("One.")
    assert first.content.decode().endswith(
        "Part 1 of 3. The text goes on in part 2: </awp/content/long.md?part=2>\n"
    )
    assert third.content == b"Three."
    assert "Link" not in send("GET", "/awp/content/tea.md").headers


@pytest.mark.requirement("AWP-4.1", "AWP-4.5")
def test_a_text_of_the_settings_over_its_budget_is_served_whole_in_parts(settings: Any) -> None:
    sentences = [f"Sentence {number} says something about tea and nothing else." for number in range(200)]
    settings.AGENTWEB = {**settings.AGENTWEB, "AWP": {"SUMMARY": " ".join(sentences)}}
    texts, address = [], "/awp/content/summary.md"
    while True:
        response = send("GET", address)
        text = response.content.decode()
        assert count(text) <= 500
        texts.append(text.partition("\n\n---\n\n")[0])
        links = [link for link in response.get("Link", "").split(", ") if 'rel="next"' in link]
        if not links:
            break
        address = links[0][1:].partition(">")[0]
    assert len(texts) > 2
    assert "".join(texts) == " ".join(sentences)


def test_what_not_everybody_may_know_of_is_in_no_document() -> None:
    action(description="Secret plans.", visible=lambda user: user.is_authenticated)(secret_plans)
    page("/secret", title="Secret page", permission=lambda user: user.is_authenticated)
    assert registry.get("secret_plans") is not None
    for address in DOCUMENTS:
        text = send("GET", address).content.decode().lower()
        assert "secret" not in text


def secret_plans(inp: None, ctx: Any) -> Any:
    return {}


def test_a_guard_that_opens_is_seen_at_once() -> None:
    opened: list[bool] = []
    action(description="Now and then.", visible=lambda user: bool(opened))(secret_plans)
    address = "/awp/api/tools/functions.json"
    assert "secret_plans" not in [each["name"] for each in loads(send("GET", address))["functions"]]
    opened.append(True)
    assert "secret_plans" in [each["name"] for each in loads(send("GET", address))["functions"]]


@pytest.mark.requirement("AWP-2.17")
def test_updated_at_is_when_a_run_last_confirmed_every_page() -> None:
    earlier = clock.now_datetime() - timedelta(days=3)
    end_run(earlier)
    end_run(is_complete=False)
    found = loads(send("GET", WELL_KNOWN))["updated_at"]
    assert found == earlier.isoformat(timespec="seconds").replace("+00:00", "Z")


def test_before_any_run_nothing_is_said_of_when(monkeypatch: pytest.MonkeyPatch) -> None:
    from agentweb.awp.content.models import ContentPage, ContentRun

    ContentRun.objects.all().delete()
    ContentPage.objects.all().delete()
    published.forget()
    document = loads(send("GET", WELL_KNOWN))
    assert "updated_at" not in document
    assert document["endpoints"]["content"] == "/awp/content/structure.json"
    assert loads(send("GET", "/awp/manifest.json"))["content"] == []


@pytest.mark.parametrize("address", [WELL_KNOWN, "/awp/manifest.json"])
def test_a_manifest_that_settings_break_is_not_served_and_only_the_log_says_why(
    settings: Any, caplog: pytest.LogCaptureFixture, address: str
) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "AWP": {"DESCRIPTION": "Shop."}}
    response = send("GET", address)
    assert response.status_code == 500
    assert loads(response)["error"]["code"] == "manifest_invalid"
    assert response["Cache-Control"] == "no-store"
    assert "description" not in response.content.decode()
    assert "/description" in caplog.text
    assert_is_of_awp(response)
    assert send("GET", "/awp/content/summary.md").status_code == 200


# -- from one document to the others


@pytest.mark.requirement("AWP-2.2")
def test_from_the_well_known_manifest_alone_every_document_is_found() -> None:
    """By the paths and URLs that stand in what was read before."""
    origin, found, waiting = "https://shop.example", set[str](), [WELL_KNOWN]
    while waiting:
        address = waiting.pop()
        if address in found or not (address in DOCUMENTS or address.startswith("/awp/content/")):
            continue
        found.add(address)
        text = send("GET", address).content.decode()
        waiting += re.findall(r"(?:https://shop\.example)?(/[a-z0-9_./-]+\.(?:json|md|txt))", text)
    assert found >= set(DOCUMENTS), origin


@pytest.mark.requirement("AWP-3.4", "AWP-3.8", "AWP-3.9")
def test_a_function_is_called_by_what_its_document_says_and_refused_where_it_says_so(
    many_callers: None,
) -> None:
    listed = loads(send("GET", "/awp/api/tools/functions.json"))["functions"]
    assert {each["auth_required"] for each in listed} == {True, False}
    for each in listed:
        address = each["path"].replace("{id}", "7")
        response = send(each["method"], address, b"" if each["method"] == "GET" else b"{}")
        assert (response.status_code == 401) == each["auth_required"], each["name"]
        assert response.status_code != 404 or each["name"] == "vanish"
    (search,) = [each for each in listed if each["name"] == "search_products"]
    assert search["parameters"]["required"] == ["query"]
    answer = send(search["method"], f"{search['path']}?query=tea")
    assert (answer.status_code, loads(answer)) == (200, {"found": {"query": "tea"}})


# -- languages


@pytest.fixture
def dutch(settings: Any) -> Any:
    settings.LANGUAGES = [("en-us", "English"), ("nl", "Dutch")]
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.middleware.locale.LocaleMiddleware"]
    write_page("tea", "# Thee\n\nGroen.", title="Thee", language="nl")
    end_run()
    return settings


@pytest.mark.parametrize(
    ("accepted", "language", "text"),
    [
        ("", "en-us", "# Tea"),
        ("nl", "nl", "# Thee"),
        ("nl-BE, en;q=0.5", "nl", "# Thee"),
        ("fr, nl;q=0.1", "nl", "# Thee"),
        ("fr", "en-us", "# Tea"),
        ("*", "en-us", "# Tea"),
        ("en-GB", "en-us", "# Tea"),
        ("nl;q=x", "en-us", "# Tea"),
    ],
)
def test_a_page_comes_in_the_language_that_is_asked_for(
    dutch: Any, accepted: str, language: str, text: str
) -> None:
    headers = {"Accept_Language": accepted} if accepted else {}
    response = send("GET", "/awp/content/tea.md", **headers)
    assert response.content.decode().startswith(text)
    assert response["Content-Language"] == language
    assert "Accept-Language" in response["Vary"]


def test_lists_name_pages_in_the_language_that_is_asked_for(dutch: Any) -> None:
    for accepted, title in (("en", "Tea"), ("nl", "Thee")):
        response = send("GET", "/awp/content/structure.json", Accept_Language=accepted)
        assert [each["title"] for each in loads(response)["sections"][0]["pages"]] == [title]
        assert loads(response)["sections"][0]["count"] == 1
        assert "Accept-Language" in response["Vary"]


def test_a_page_that_is_there_in_another_language_only_is_still_there(dutch: Any) -> None:
    write_page("koffie", "Zwart.", language="nl")
    response = send("GET", "/awp/content/koffie.md", Accept_Language="en")
    assert (response.content, response["Content-Language"]) == (b"Zwart.", "nl")


@pytest.mark.parametrize("lang", ["nl", "NL"])
def test_the_address_may_name_the_language(dutch: Any, lang: str) -> None:
    page = send("GET", f"/awp/content/tea.md?lang={lang}", Accept_Language="en")
    assert (page.content, page["Content-Language"]) == (b"# Thee\n\nGroen.", "nl")
    listed = send("GET", f"/awp/content/structure.json?lang={lang}", Accept_Language="en")
    assert [each["title"] for each in loads(listed)["sections"][0]["pages"]] == ["Thee"]
    assert b"[Thee](" in send("GET", f"/llms.txt?lang={lang}").content
    assert b"Groen." in send("GET", f"/llms-full.txt?lang={lang}").content


@pytest.mark.parametrize("below", ["content/tea.md?", "content/structure.json?", "search?q=tea&"])
def test_a_language_that_the_site_does_not_have_is_refused(dutch: Any, below: str) -> None:
    response = send("GET", f"/awp/{below}lang=fr")
    assert response.status_code == 400
    error = loads(response)["error"]
    assert error["code"] == "invalid_parameter"
    assert "nl" in json.dumps(error["problems"])


def addresses_in(document: Any) -> list[str]:
    """Every ``url`` and ``next`` of a page or a list of pages, anywhere in it."""
    if isinstance(document, list):
        return [each for item in document for each in addresses_in(item)]
    if not isinstance(document, dict):
        return []
    own = [document[name] for name in ("url", "next") if isinstance(document.get(name), str)]
    return own + [each for value in document.values() for each in addresses_in(value)]


@pytest.mark.parametrize(
    "address",
    [
        "/awp/content/structure.json",
        "/awp/manifest.json",
        "/awp/content/sections/pages.json",
        "/awp/search?q=tee",
    ],
)
def test_what_a_list_links_to_is_what_it_tells_of_whoever_follows(dutch: Any, address: str) -> None:
    write_page("tee", "# Thee of tee\n\nTee.", title="Tee", language="nl")
    indexing.catch_up()
    end_run()
    mark = "&" if "?" in address else "?"
    found = addresses_in(loads(send("GET", f"{address}{mark}lang=nl")))
    assert found
    for url in found:
        there = send("GET", url.removeprefix("https://shop.example"))
        assert (there.status_code, there["Content-Language"]) == (200, "nl"), url


def test_the_parts_of_a_page_stay_in_its_language(dutch: Any) -> None:
    write_page("lang/" + "x" * 80, "Een.", "Twee.", "Drie.", language="nl")
    address = f"/awp/content/lang/{'x' * 80}.md"
    write_page("lang/" + "x" * 80, "One.", "Two.", "Three.", language="en-us")
    first = send("GET", address, Accept_Language="nl")
    assert first["Link"] == f'<{address}?lang=nl&part=2>; rel="next"'
    assert "<?lang=nl&part=2>" in first.content.decode()
    second = send("GET", f"{address}?lang=nl&part=2")
    assert second.content.decode().startswith("Twee.")
    assert second["Link"] == f'<{address}?lang=nl>; rel="prev", <{address}?lang=nl&part=3>; rel="next"'


def test_search_finds_what_its_addresses_answer(dutch: Any) -> None:
    def found(query: str, **headers: str) -> Any:
        response = send("GET", f"/awp/search?q={query}", **headers)
        assert "Accept-Language" in response["Vary"]
        return [(each["title"], each["url"]) for each in loads(response)["results"] if each["type"] == "page"]

    indexing.catch_up()
    # "groen" is a word of the Dutch version alone, which nobody gets who asks for no language.
    assert found("groen") == []
    assert found("groen", Accept_Language="nl") == found("groen&lang=nl") != []
    ((_title, url),) = found("groen&lang=nl")
    assert "Groen." in send("GET", url.removeprefix("https://shop.example")).content.decode()


def test_the_site_is_called_what_its_titles_end_in_and_its_pages_without_that(settings: Any) -> None:
    for slug in ("red", "green", "blue"):
        write_page(slug, "Text.", title=f"{slug.title()} | Corner Shop", section="colours")
    write_page("index", "Text.", title="Corner Shop")
    ContentPage.objects.filter(slug="tea").delete()
    end_run()
    page("/", title="Front page")
    assert loads(send("GET", WELL_KNOWN))["name"] == "Corner Shop"
    listed = loads(send("GET", "/awp/content/structure.json"))["sections"]
    assert [each["title"] for each in listed[0]["pages"]] == ["Blue", "Green", "Red"]
    section = loads(send("GET", "/awp/content/sections/colours.json"))
    assert [each["title"] for each in section["pages"]] == ["Blue", "Green", "Red"]
    assert b"\n# Blue\n" in send("GET", "/llms-full.txt").content


class WithAFrontPage:
    urlpatterns = (path("", include("agentweb.urls")), path("", lambda request: None))


class WithNothingAtItsPath:
    from agentweb import urls as ours

    urlpatterns = (path("shop/", include("agentweb.urls")), path("", lambda request: None), *ours.well_known)


@pytest.mark.parametrize(
    ("title", "urls", "name"),
    [
        ("Corner Shop", WithAFrontPage, "Corner Shop"),
        # It says which page of the site it is.
        ("Front page", WithAFrontPage, "shop.example"),
        # Nothing is at /shop/.
        ("Corner Shop", WithNothingAtItsPath, "shop.example"),
    ],
)
def test_a_front_page_names_the_site_if_it_is_there_and_says_a_name(
    settings: Any, title: str, urls: Any, name: str
) -> None:
    settings.ROOT_URLCONF = urls
    page("/", title=title, description="All we sell.")
    document = loads(send("GET", WELL_KNOWN))
    assert document["name"] == name
    assert ("All we sell." in document["description"]) == (urls is WithAFrontPage)


def test_where_there_is_one_language_no_address_names_it() -> None:
    document = send("GET", "/awp/content/structure.json").content + send("GET", "/llms.txt").content
    assert b"lang=" not in document
    assert send("GET", "/awp/content/tea.md?lang=en-us").status_code == 200


def test_where_there_is_one_language_nothing_varies_by_it() -> None:
    response = send("GET", "/awp/content/tea.md", Accept_Language="nl")
    # Nobody gets another document by saying who they are.
    assert "Vary" not in response.headers
    assert response["Content-Language"] == "en-us"


# -- where the site is mounted


class Below:
    """A site that includes agentweb under a path, and the well-known URLs at its root."""

    from agentweb import urls as ours

    urlpatterns = (path("shop/", include("agentweb.urls")), *ours.well_known)


@pytest.mark.requirement("AWP-2.11")
def test_a_site_under_a_path_answers_there_and_at_the_root_of_the_host(settings: Any) -> None:
    settings.ROOT_URLCONF = Below
    document = loads(send("GET", WELL_KNOWN))
    assert document["endpoints"] == {
        "manifest": "/shop/awp/manifest.json",
        "content": "/shop/awp/content/structure.json",
        "api": "/shop/awp/api/tools/functions.json",
    }
    assert document["llms_txt"] == "/llms.txt"
    for address in document["endpoints"].values():
        assert_is_of_awp(send("GET", address))
        assert send("GET", address).status_code == 200
    full = loads(send("GET", document["endpoints"]["manifest"]))
    assert full["content"][0]["url"] == "https://shop.example/shop/awp/content/tea.md"
    assert send("GET", "/shop/awp/content/tea.md").status_code == 200
    assert "https://shop.example/shop/awp/content/tea.md" in send("GET", "/llms.txt").content.decode()
    assert send("GET", "/shop/awp/nothing").status_code == 404
    nothing = send("GET", "/shop/awp/content/none.md")
    (named,) = re.findall(r"/\S+\.json", loads(nothing)["error"]["message"])
    assert (nothing.status_code, send("GET", named).status_code) == (404, 200)
    assert loads(send("GET", "/shop/awp/api/tools/functions.json"))["functions"][0]["path"].startswith(
        "/shop/"
    )


@pytest.mark.parametrize(
    ("address", "there"),
    [
        ("content/tea.md?part=2", "one part"),
        ("content/long.md?part=4", "3 parts"),
        ("content/summary.md?part=99", "one part"),
        ("content/sections/pages.json?part=2", "one part"),
    ],
)
def test_a_part_that_is_not_there_is_told_how_many_are(address: str, there: str) -> None:
    write_page("long", "One.", "Two.", "Three.")
    response = send("GET", f"/awp/{address}")
    assert response.status_code == 404
    assert f"This text has {there}." in loads(response)["error"]["message"]


def test_a_site_under_a_script_name_says_so_in_every_path() -> None:
    set_script_prefix("/app/")
    try:
        response = send("GET", WELL_KNOWN)
    finally:
        clear_script_prefix()
    assert loads(response)["endpoints"]["manifest"] == "/app/awp/manifest.json"


def own_llms(request: Any) -> Any:
    from django.http import HttpResponse

    return HttpResponse("Our own.", content_type="text/plain")


class WithItsOwn:
    urlpatterns = (path("", include("agentweb.urls")), path("llms.txt", own_llms))


class WithACatchAll:
    urlpatterns = (path("", include("agentweb.urls")), path("<path:anything>", own_llms))


def test_a_site_s_own_llms_txt_stays_its_own_and_is_not_exported(settings: Any) -> None:
    from agentweb.awp.documents import documents

    settings.ROOT_URLCONF = WithItsOwn
    assert send("GET", "/llms.txt").content == b"Our own."
    assert send("GET", "/llms-full.txt")["X-AWP-Version"] == "1.0"
    assert "/llms.txt" not in [each.path for each in documents()]


def test_a_view_that_takes_every_path_is_no_llms_txt_of_the_site(settings: Any) -> None:
    settings.ROOT_URLCONF = WithACatchAll
    assert send("GET", "/llms.txt")["X-AWP-Version"] == "1.0"
    assert send("GET", "/awp/nothing").status_code == 404


@pytest.mark.parametrize("address", [*DOCUMENTS, "/awp/search", "/awp/nothing"])
def test_a_preflight_names_what_is_answered_and_lets_a_page_ask_again_with_its_tag(address: str) -> None:
    response = send("OPTIONS", address, Access_Control_Request_Headers="if-none-match", **PREFLIGHT)
    assert response.status_code == 204
    assert response["Access-Control-Allow-Methods"] == "GET, HEAD, OPTIONS"
    assert "If-None-Match" in response["Access-Control-Allow-Headers"].split(", ")


def test_a_part_within_code_is_served_with_what_it_needs_to_be_read() -> None:
    write_page("code", "```py\na = 1\n", "b = 2\n```\n")
    ContentPart.objects.filter(page__slug="code", number=1).update(after="\n```")
    ContentPart.objects.filter(page__slug="code", number=2).update(before="```py\n")
    first, second = (send("GET", f"/awp/content/code.md?part={number}").content.decode() for number in (1, 2))
    assert first.startswith("```py\na = 1\n\n```\n\n---\n\nPart 1 of 2. ")
    assert second == "Part 2 of 2 goes on in a block of code:\n\n```py\nb = 2\n```\n"
