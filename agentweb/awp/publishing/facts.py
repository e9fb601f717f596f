"""What the documents say of the site, gathered once: the builders are functions of it, and look nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils import translation

from agentweb import conf
from agentweb.access import callers
from agentweb.awp import languages
from agentweb.awp.budgets import Measure, count
from agentweb.awp.content.published import Entry
from agentweb.awp.protocol import content_path
from agentweb.awp.publishing.content_map import ContentMap, registered_slug
from agentweb.catalog.actions import Action
from agentweb.catalog.pages import Page
from agentweb.catalog.registry import registry
from agentweb.http.documents import Place
from agentweb.http.doors import all_doors
from agentweb.http.mount import path_of
from agentweb.http.page_urls import published_path
from agentweb.http.urlconf import is_ours, views_at
from agentweb.http.visibility import is_visible, visible_actions

ACTIONS_DOOR: Final = "agent_actions"
"""The door of the room by which actions are called at their paths; without it there is no API."""

_EVERYBODY: Final = callers.anonymous("")


@dataclass(frozen=True, slots=True)
class Facts:
    """Of a site at ``place``, in ``language``. The texts are those of the settings, None where the site sets none.

    ``pages`` and ``actions`` are those that everybody may know of. ``doors`` are the paths of what other rooms offer,
    by name. ``registration`` is the path where an agent gets a session, or where people connect one. ``measure`` is
    how the texts are measured that are to fit a budget. ``has_front``: a view of the site is at its front page below
    the prefix.
    """

    place: Place
    language: str
    name: str | None
    description: str | None
    summary: str | None
    instructions: str | None
    pages: tuple[Page, ...]
    actions: tuple[Action, ...]
    content: ContentMap
    doors: Mapping[str, str]
    registration: str | None
    anonymous_rate: tuple[float, int]
    caller_rate: tuple[float, int]
    measure: Measure = count
    has_front: bool = True

    @property
    def front(self) -> Page | None:
        """The front page, where it is registered and there."""
        return next((page for page in self.pages if page.path == "/" and self.has_front), None)

    def path(self, below: str) -> str:
        """The whole path of one of our addresses below the site's prefix."""
        return f"{self.place.prefix}/{below}"

    def url(self, below: str, **query: int) -> str:
        """Its URL, in the language of these facts."""
        return languages.address(self.place.origin + self.path(below), self.language, **query)

    def root_url(self, below: str) -> str:
        """The URL of one that is at the root of the host, in the language of these facts."""
        return languages.address(f"{self.place.origin}/{below}", self.language)

    def page_path(self, page: Page) -> str:
        """The whole path of a page of the site, percent-encoded."""
        return published_path(page.path, self.place.prefix)

    def page_url(self, page: Page) -> str:
        """Where a page can be read: its Markdown, else the page itself."""
        entry = self.content.registered.get(registered_slug(page))
        return self.place.origin + self.page_path(page) if entry is None else self.entry_url(entry)

    def entry_url(self, entry: Entry) -> str:
        """Where the first part of a page's Markdown is."""
        return languages.address(self.place.origin + self.path(content_path(entry.slug)), entry.language)


def facts_of(place: Place, language: str, content: ContentMap, measure: Measure) -> Facts:
    """The facts as they are now. Guards are asked as AnonymousUser, whoever calls."""
    doors = {door.name: door.path_at(place) for door in all_doors()}
    return Facts(
        place=place,
        language=language,
        name=_text("NAME", language),
        description=_text("DESCRIPTION", language),
        summary=_text("SUMMARY", language),
        instructions=_text("INSTRUCTIONS", language),
        pages=tuple(public_pages()),
        actions=tuple(visible_actions(_EVERYBODY)) if ACTIONS_DOOR in doors else (),
        content=content,
        doors=doors,
        registration=path_of("sessions") or path_of("agents"),
        anonymous_rate=tuple(conf.get("ANONYMOUS_RATE")),
        caller_rate=tuple(conf.get("CALLER_RATE")),
        measure=measure,
        has_front=any(not is_ours(view) for view in views_at(f"{place.prefix}/")),
    )


def public_pages() -> list[Page]:
    """The registered pages that have one address and are for everybody, by path."""
    return [
        page
        for page in registry.pages()
        if not page.parameters and (page.permission is None or page.is_visible_to(_EVERYBODY.user, {}))
    ]


def hidden() -> tuple[str, ...]:
    """Names of the actions and paths of the pages that not everybody may know of, as their guards answer now."""
    actions = [action.name for action in registry.actions() if not is_visible(action, _EVERYBODY)]
    guarded = [page for page in registry.pages() if page.permission is not None and not page.parameters]
    return (*actions, *(page.path for page in guarded if not page.is_visible_to(_EVERYBODY.user, {})))


def _text(name: str, language: str) -> str | None:
    """A text of the settings; one that is a lazy translation, in this language."""
    value = conf.get_in("AWP", name)
    if value is None:
        return None
    with translation.override(language):
        return str(value).strip()
