"""Answering a query: pages and actions in one order, by one measure (BM25, ``client.ranking``).

The same on every database, for the index is our own. Whatever is asked, it is at most six statements, none in a loop,
and a bounded number of rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from django.db.models import Q

from agentweb.access.callers import Caller
from agentweb.awp import languages as versions
from agentweb.awp.content import published
from agentweb.awp.content.models import ContentPage, ContentPart
from agentweb.awp.protocol import content_path
from agentweb.awp.publishing.facts import ACTIONS_DOOR
from agentweb.awp.search import actions, cursors, postings
from agentweb.awp.search.snippets import snippet
from agentweb.awp.search.terms import EVERY, key_of
from agentweb.catalog.actions import Action
from agentweb.client.ranking import SCALE, THOUSAND, rarity, scores
from agentweb.client.ranking_actions import action_query, is_effect
from agentweb.client.ranking_words import ENGLISH, query_concepts
from agentweb.http.documents import Place
from agentweb.http.doors import advertised
from agentweb.http.visibility import visible_actions

MAX_QUERY: Final = 500
"""Characters of a query."""
MAX_TERMS: Final = 64
ASKED: Final = 16
"""Words of a query that are looked for: of more, the rarest."""

_SAFE: Final = "/~"

PAGE: Final = "page"
ACTION: Final = "action"


@dataclass(frozen=True, slots=True)
class _Result:
    """``score`` is in the ranker's whole numbers, ``path`` what ties are decided by, ``key`` a page's primary key or
    the action."""

    score: int
    path: str
    type: str
    ident: str
    key: Any

    @property
    def name(self) -> str:
        """What this result is called, and no other one of a query: pages by their slugs, actions by their names."""
        return f"{self.type}:{self.ident}"

    @property
    def order(self) -> tuple[int, str, str]:
        return -self.score, self.path, self.name


@dataclass(frozen=True, slots=True)
class _Shown:
    """A page as it may be shown."""

    pk: int
    slug: str
    language: str
    path: str
    title: str
    description: str


class _Query:
    """What was asked, as terms: a word's English stem names it, with all forms in which pages may have it.

    ``weights`` has what actions are asked for beside: what a verb stands for.
    """

    def __init__(self, text: str) -> None:
        concepts = query_concepts(text, most=MAX_TERMS)
        self.forms = {concept[0]: tuple(dict.fromkeys(concept)) for concept in concepts}
        self.weights = action_query(text)
        said = {form for forms in self.forms.values() for form in forms}
        self.keys = {term: key_of(term) for term in {*said, *self.weights} if not is_effect(term)}
        self.rarities: dict[str, int] = {}

    def narrow(self, counts: Mapping[str, int], total: int, actions: int) -> None:
        """Keep the rarest words, by how many of all pages and actions have each term; effects only actions have."""
        self.rarities = {
            term: rarity(counts.get(term, 0), actions if is_effect(term) else total)
            for term in {*self.forms, *self.weights}
        }
        asked = [word for word in self.forms if counts.get(word)]
        kept = set(sorted(asked, key=lambda word: (-self.rarities[word], word))[:ASKED])
        self.weights = {
            term: weight for term, weight in self.weights.items() if term in kept or term not in self.forms
        }
        self.forms = {word: forms for word, forms in self.forms.items() if word in kept}

    @property
    def worth(self) -> dict[int, int]:
        """Weight times rarity of the index's terms."""
        return {
            self.keys[form]: THOUSAND * self.rarities[word]
            for word, forms in self.forms.items()
            for form in forms
        }

    @property
    def wanted(self) -> frozenset[str]:
        return frozenset(form for forms in self.forms.values() for form in forms)


def search(
    text: str,
    caller: Caller,
    place: Place,
    *,
    languages: Sequence[str] = (),
    limit: int = 10,
    cursor: str | None = None,
) -> dict[str, Any]:
    """``{"query", "results", "next_cursor"}`` as AWP section 1 has it, of what this caller may know of.

    Of a page in several languages the version counts that the reader would be given of its content, and no other.
    Raises invalid_cursor.
    """
    after = None if cursor is None else cursors.read(text, cursor)
    found, query, shown = _ranked(text, caller, languages, place)
    start = 0 if after is None else _start(found, after)
    end = min(start + limit, len(found))
    given = found[start:end]
    is_more = 0 < end < len(found)
    return {
        "query": text,
        "results": _results(given, query, shown, place),
        "next_cursor": cursors.write(text, cursors.Place.after(end, given[-1].name)) if is_more else None,
    }


def _ranked(
    text: str, caller: Caller, languages: Sequence[str], place: Place
) -> tuple[list[_Result], _Query, dict[int, _Shown]]:
    query = _Query(text)
    if not query.forms:
        return [], query, {}
    # Without the room by which they are called, there is nothing to be done with them.
    actions_there = visible_actions(caller) if advertised(ACTIONS_DOOR) else []
    visible = {action.name: action for action in actions_there}
    of_actions = actions.collection().postings(query.weights, visible.keys())
    every = key_of(EVERY)
    having = postings.pages_having({*query.keys.values(), every})
    counts = _counts(query, having)
    for term, _name, _impact in of_actions:
        counts[term] += 1
    query.narrow(counts, having.get(every, 0) + len(visible), len(visible))
    pages = postings.page_scores(query.worth, having)
    shown = _shown(pages, languages)
    found = [_Result(pages[pk], page.path, PAGE, page.slug, pk) for pk, page in shown.items()]
    of_query = [each for each in of_actions if each[0] in query.weights]
    found += [
        _Result(score, place.prefix + visible[name].path, ACTION, name, visible[name])
        for name, score in scores(query.weights, query.rarities, of_query).items()
    ]
    return sorted(found, key=lambda result: result.order), query, shown


def _counts(query: _Query, having: dict[int, int]) -> Counter[str]:
    """How many pages have each term of the query."""
    counts = Counter({term: having.get(query.keys[term], 0) for term in query.weights if term in query.keys})
    for word, forms in query.forms.items():
        counts[word] = sum(having.get(query.keys[form], 0) for form in forms)
    return counts


def _shown(pages: Collection[int], languages: Sequence[str]) -> dict[int, _Shown]:
    """Those of the pages, by key, that are the version in which the reader gets them. One query."""
    if not pages:
        return {}
    # With their versions in other languages, which have none of the words or fewer.
    slugs = ContentPage.objects.filter(pk__in=list(pages)).values("slug")
    rows = ContentPage.objects.filter(slug__in=slugs).order_by("pk")
    rank = published.preference(languages)
    best: dict[str, _Shown] = {}
    for row in rows.values_list(*_Shown.__slots__):
        page = _Shown(*row)
        other = best.get(page.slug)
        if other is None or rank(page.language) < rank(other.language):
            best[page.slug] = page
    return {page.pk: page for page in best.values() if page.pk in pages}


def _start(found: Sequence[_Result], after: cursors.Place) -> int:
    """Where the results after a place begin."""
    places = (number for number, result in enumerate(found, 1) if after.is_at(result.name))
    return next(places, min(after.given, len(found)))


def _results(
    given: Sequence[_Result], query: _Query, shown: dict[int, _Shown], place: Place
) -> list[dict[str, Any]]:
    texts = _texts([result.key for result in given if result.type == PAGE], query)
    door = advertised(ACTIONS_DOOR)
    # That document has all that the caller may know of; AWP's own list of functions is for everybody.
    manifest = "" if door is None else place.origin + door.path_at(place)
    return [
        _page_result(result, shown[result.key], texts, query, place)
        if result.type == PAGE
        else _action_result(result, query, manifest)
        for result in given
    ]


def _texts(pages: Sequence[int], query: _Query) -> dict[int, str]:
    """Of each page the part that has the rarest of what was asked, and of some the first. Two queries."""
    if not pages:
        return {}
    word_of = {query.keys[form]: word for word, forms in query.forms.items() for form in forms}
    best: dict[int, tuple[int, int]] = {}
    for page, term, number in postings.places(pages, list(word_of)):
        best[page] = min(best.get(page, (0, 0)), (-query.rarities[word_of[term]], number))
    wanted = Q()
    for page in pages:
        wanted |= Q(page=page, number=best[page][1] if page in best else 1)
    return dict(ContentPart.objects.filter(wanted).values_list("page", "text"))


def _page_result(
    result: _Result, page: _Shown, texts: dict[int, str], query: _Query, place: Place
) -> dict[str, Any]:
    return {
        "type": PAGE,
        "title": page.title,
        "path": page.path,
        "url": versions.address(
            f"{place.origin}{place.prefix}/{quote(content_path(page.slug), safe=_SAFE)}", page.language
        ),
        "snippet": snippet(texts.get(page.pk, ""), query.wanted, page.language, otherwise=page.description),
        "score": round(result.score / SCALE, 4),
    }


def _action_result(result: _Result, query: _Query, manifest: str) -> dict[str, Any]:
    action: Action = result.key
    return {
        "type": ACTION,
        "title": action.title,
        "path": result.path,
        "url": f"{manifest}#{action.name}",
        "snippet": snippet(action.description, query.wanted, ENGLISH),
        "score": round(result.score / SCALE, 4),
    }
