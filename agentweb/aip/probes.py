"""What the doctor looks at in this room: every public manifest in both forms, the pages themselves, and bad tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from agentweb.access import callers
from agentweb.aip.addresses import JSON_FORM, TOON_FORM, manifest_path
from agentweb.aip.sitemap import listed_pages
from agentweb.catalog.pages import Page
from agentweb.http.page_urls import published_path
from agentweb.http.probes import WITH_ANSWERS, Answer, Examined, Level, Look, Probe, Problem
from agentweb.wire import toon
from agentweb.wire.errors import RequestError
from agentweb.wire.schema import SchemaError, compile_schema
from agentweb.wire.strict_json import loads

_LARGEST: Final = 50_000_000
_BAD_TOKEN: Final = "agw_" + 43 * "A"
_CLASH: Final = "Look for a view or a middleware of the site that answers there, with `manage.py check`."


def both_forms_agree(site: Examined) -> Iterator[Problem]:
    for page in _pages():
        path = manifest_path(page.path, TOON_FORM, site.place.prefix)
        as_json, as_toon = _json_answer(site, page), site.ask("GET", path)
        if as_json.status != 200 or as_toon.status != 200:
            continue  # D050 says it
        try:
            same = toon.loads(as_toon.body, max_bytes=_LARGEST) == _value(as_json)
        except (toon.ToonError, RequestError):
            same = False
        if not same:
            yield Problem(f"{path} does not say what its .json says.", _CLASH)


def inputs_hold(site: Examined) -> Iterator[Problem]:
    """As a reader who knows nothing else: each example against the schema beside it."""
    for page in _pages():
        for entry in _manifest(site, page).get("actions", []):
            try:
                problems = compile_schema(entry["input_schema"]).problems(entry["input_example"])[0]
            except SchemaError as error:
                problems = [{"message": str(error)}]
            if problems:
                yield Problem(
                    f"The input of {entry['id']} on {page.path} does not hold: {problems[0]['message']}",
                    f"Correct the example or the input of {entry['id']} in agents.py.",
                )


def pages_are_there(site: Examined) -> Iterator[Problem]:
    """A page may ask for a login; it may not be missing."""
    for page in _pages():
        path = published_path(page.path, site.place.prefix)
        answers = [site.ask("GET", form) for form in (path, f"{path.rstrip('/')}/")]
        if all(answer.status in {404, 410} or answer.status >= 500 for answer in answers):
            yield Problem(
                f"The page {path} has a manifest and answers {answers[0].status} itself.",
                "Correct the path of the page in agents.py, or the view.",
            )


def bad_tokens_are_refused(site: Examined) -> Iterator[Problem]:
    """Whoever shows a token that does not hold must not take the public manifest for their own."""
    for page in _pages():
        path = manifest_path(page.path, JSON_FORM, site.place.prefix)
        answer = site.ask("GET", path, {"Authorization": f"Bearer {_BAD_TOKEN}"})
        if answer.status not in {401, 429}:
            yield Problem(
                f"{path}, asked with a token that is none, answers {answer.status} and not 401.",
                "Let the Authorization header through to Django (WSGIPassAuthorization On in Apache), and keep "
                "caches from answering requests that have one.",
            )


def _pages() -> list[Page]:
    """The pages that have one address and are for everybody."""
    return [page for page in listed_pages(callers.anonymous("")) if not page.parameters]


def _json_answer(site: Examined, page: Page) -> Answer:
    return site.ask("GET", manifest_path(page.path, JSON_FORM, site.place.prefix))


def _manifest(site: Examined, page: Page) -> dict[str, Any]:
    answer = _json_answer(site, page)
    try:
        found = _value(answer) if answer.status == 200 and answer.is_ours else {}
    except RequestError:
        return {}
    return found if isinstance(found, dict) else {}


def _value(answer: Answer) -> Any:
    return loads(answer.body, max_bytes=_LARGEST)


def _probe(number: str, healthy: str, look: Look, level: Level = Level.ERROR) -> Probe:
    return Probe(number, level, healthy, look, after=WITH_ANSWERS)


PROBES: Final = (
    _probe("D110", "Manifests say the same as JSON and as TOON.", both_forms_agree),
    _probe("D111", "Examples in manifests fit their schemas.", inputs_hold),
    _probe("D112", "Every page with a manifest is there.", pages_are_there, Level.WARNING),
    _probe("D113", "A token that does not hold is refused.", bad_tokens_are_refused),
)
