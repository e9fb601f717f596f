"""From a URL of the site to its content in parts, or why there is none. Nothing is written here.

What has not changed at its source is not converted again: by the ETag that the site gives it, or else by a digest of
what it answers, without what is new in every answer (tokens against forgery, nonces).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from django.contrib.auth.models import AnonymousUser
from django.utils import translation

import agentweb
from agentweb.awp.content import declared
from agentweb.awp.content.convert import Converted, convert
from agentweb.awp.content.languages import Languages, below_script
from agentweb.awp.content.models import TITLE_LENGTH, ContentPage
from agentweb.awp.content.outcomes import MAX_DETAIL, Failed, LeftOut, Reason
from agentweb.awp.content.parts import Part, split
from agentweb.awp.content.rendering import HTML, PAGE_SECONDS, Rendered, Renderer, detail_of
from agentweb.awp.content.robot_tags import forbids_index, may_expire
from agentweb.awp.content.robots import Robots
from agentweb.awp.content.runs import Superseded
from agentweb.awp.content.slugs import slug_of
from agentweb.awp.content.sources import Candidate
from agentweb.awp.content.timing import OutOfTime, at_most
from agentweb.catalog.pages import Page, page_at
from agentweb.http.page_urls import below_mount
from agentweb.wire.tokens import count

MAX_DESCRIPTION: Final = 2_000

_RECIPE: Final = "3"
"""To be counted up when the same source is to become other content."""
# What Django writes anew into every answer.
_PASSING: Final = re.compile(rb"""(?<=name="csrfmiddlewaretoken" value=")[^"]*|\bnonce=(?:"[^"]*"|'[^']*')""")
_HEADING: Final = re.compile(r"^#{1,6}[ \t]+([^\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Made:
    """The content of a page as it is to be stored; members as in ContentPage. ``is_selected``: whether it is what
    SELECTOR names, None where none was looked for."""

    path: str
    title: str
    description: str
    section: str
    source: str
    source_etag: str
    source_digest: str
    digest: str
    parts: tuple[Part, ...]
    is_selected: bool | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """The stored page ``key`` is what its source says."""

    key: int
    digest: str


@dataclass(frozen=True, slots=True)
class Looked:
    """What became of a page in one language. ``slug`` is that of where it is in the end; ``asked`` of where it was
    looked for, another one when it redirects."""

    asked: str
    slug: str
    path: str
    language: str
    outcome: Made | Unchanged | LeftOut | Failed


@dataclass(frozen=True, slots=True)
class _Source:
    """What a page is made from. ``title`` and ``description`` are its declaration's, if it says more than the page.
    ``is_detour`` is as in Rendered."""

    path: str
    kind: str
    body: bytes
    etag: str
    is_html: bool
    charset: str
    title: str
    description: str
    is_detour: bool


@dataclass(frozen=True)
class Maker:
    """Sees one page after the other. It can be handed to another process."""

    origin: str
    robots: Robots
    languages: Languages
    selector: str | None

    def __post_init__(self) -> None:
        # The converter and the tokenizer take a moment to load, which is not the first page's; and processes that are
        # forked share them.
        convert("<p>.</p>", url=self.origin)
        count("")

    def __reduce__(self) -> tuple[Any, ...]:
        return Maker, (self.origin, self.robots, self.languages, self.selector)

    @cached_property
    def _renderer(self) -> Renderer:
        return Renderer(self.origin)

    def make(self, candidate: Candidate, tick: Callable[[], None] = lambda: None) -> list[Looked]:
        """The page in each of its languages; ``tick`` is called before each.

        A language in which the page is, at the same path, what it is in the first one is left out: it has no text of
        its own there.
        """
        found: list[Looked] = []
        for language in candidate.languages:
            tick()
            looked = self._look(candidate, language, tick)
            if found and _is_same(looked, found[0]):
                continue
            found.append(looked)
        return found

    def failed(self, candidate: Candidate, why: Failed) -> list[Looked]:
        """What is to be said of a page at which nobody could look."""
        slug = slug_of(self.languages.below(candidate.path))
        return [Looked(slug, slug, candidate.path, language, why) for language in candidate.languages]

    def _look(self, candidate: Candidate, language: str, tick: Callable[[], None]) -> Looked:
        asked = slug_of(self.languages.below(candidate.path))
        source: _Source | LeftOut | Failed
        try:
            source = self._source(candidate, language, tick)
        except Superseded:
            raise
        except Exception as error:
            source = Failed(Reason.RAISED, detail_of(error))
        if not isinstance(source, _Source):
            return Looked(asked, asked, candidate.path, language, source)
        named = self.languages.named_in(source.path) or language
        if named not in self.languages.kept:
            return Looked(asked, asked, source.path, language, LeftOut(Reason.LANGUAGE, named))
        slug = slug_of(self.languages.below(source.path))
        tick()
        outcome = self._made(source, candidate.section, asked, slug, named)
        return Looked(asked, slug, source.path, named, outcome)

    def _source(
        self, candidate: Candidate, language: str, tick: Callable[[], None]
    ) -> _Source | LeftOut | Failed:
        page, kwargs = self._registered(candidate.path, language)
        closed = self._gate(language, candidate.path)
        if closed is not None:
            return closed
        # With parameters it is many pages, which share what their declaration says.
        title, description = ("", "") if page is None or kwargs else (page.title, page.description)
        if page is not None and page.markdown is not None:
            said = declared.text_of(page, kwargs, candidate.path, language, urlsplit(self.origin))
            if not isinstance(said, str):
                return said
            kind = ContentPage.Source.DECLARED.value
            body = said.encode(errors="replace")
            return _Source(candidate.path, kind, body, "", False, "utf-8", title, description, False)
        rendered = self._renderer.page(candidate.path, language, partial(self._gate, language), tick)
        if not isinstance(rendered, Rendered):
            return rendered
        if forbids_index(rendered.robots, is_header=True):
            return LeftOut(Reason.NOINDEX, "X-Robots-Tag")
        return _Source(
            path=rendered.path,
            kind=candidate.source,
            body=rendered.body,
            etag=rendered.etag,
            is_html=rendered.media_type in HTML,
            charset=rendered.charset,
            title=title,
            description=description,
            is_detour=rendered.is_detour,
        )

    def _gate(self, language: str, path: str) -> LeftOut | None:
        """Why nobody may read what is at ``path``, or visitors may not."""
        if self.robots.disallows(path):
            return LeftOut(Reason.ROBOTS)
        page, kwargs = self._registered(path, language)
        if page is not None and not page.is_visible_to(AnonymousUser(), kwargs):
            return LeftOut(Reason.HIDDEN)
        return None

    def _registered(self, path: str, language: str) -> tuple[Page | None, dict[str, Any]]:
        """The registered page at a path of the site, and its parameters."""
        with translation.override(self.languages.named_in(path) or language):
            below = below_mount(unquote(below_script(path.partition("?")[0])))
        found = None if below is None else page_at(below)
        return (None, {}) if found is None else found

    def _made(
        self, source: _Source, section: str, asked: str, slug: str, language: str
    ) -> Made | Unchanged | LeftOut | Failed:
        etag, digest = self._digests(source, section, asked)
        known = (
            ContentPage.objects.filter(slug=slug, language=language)
            .values_list("pk", "source_etag", "source_digest", "digest")
            .first()
        )
        is_as_before = known is not None and (known[2] == digest or (etag and known[1] == etag))
        if known is not None and is_as_before and not (source.is_html and may_expire(source.body)):
            return Unchanged(known[0], known[3])
        try:
            with at_most(PAGE_SECONDS):
                return self._converted(source, section, etag, digest)
        except OutOfTime:
            return Failed(Reason.TIMEOUT, "its conversion took too long")
        except Exception as error:
            return Failed(Reason.RAISED, f"its conversion failed: {detail_of(error)}")

    def _digests(self, source: _Source, section: str, asked: str) -> tuple[str, str]:
        """Of the source's ETag (empty without one) and of its text, each together with how content is made of it."""
        how = [_RECIPE, agentweb.__version__, self.selector or "", source.kind, source.path, section, asked]
        how += [str(source.is_html), source.charset, str(source.is_detour)]
        recipe = "\0".join([*how, source.title, source.description]).encode(errors="replace")
        body = hashlib.sha256(_PASSING.sub(b"", source.body)).digest()
        etag = (
            _digest(b"etag\0" + recipe + b"\0" + source.etag.encode(errors="replace")) if source.etag else ""
        )
        return etag, _digest(b"body\0" + recipe + b"\0" + body)

    def _converted(self, source: _Source, section: str, etag: str, digest: str) -> Made | LeftOut:
        title, description = source.title, source.description
        is_selected: bool | None = None
        if source.is_html:
            found = self._from_html(source)
            if isinstance(found, LeftOut):
                return found
            if found.is_noindex:
                return LeftOut(Reason.NOINDEX, "meta robots")
            if found.asks_password and source.is_detour:
                return LeftOut(Reason.LOGIN, f"it leads to {source.path}"[:MAX_DETAIL])
            markdown = found.markdown
            is_selected = found.is_selected if self.selector else None
            title, description = title or found.title, description or found.description
        else:
            markdown = source.body.decode(source.charset if _is_known(source.charset) else "utf-8", "replace")
            title = title or _first_heading(markdown)
        markdown = _clean(markdown)
        parts = tuple(split(markdown)) if markdown.strip() else ()
        if not parts:
            return LeftOut(Reason.EMPTY)
        title = " ".join(_clean(title).split())[:TITLE_LENGTH] or source.path[:TITLE_LENGTH]
        description = " ".join(_clean(description).split())[:MAX_DESCRIPTION]
        return Made(
            path=source.path,
            title=title,
            description=description,
            section=section,
            source=source.kind,
            source_etag=etag,
            source_digest=digest,
            digest=_digest("\0".join([title, description, markdown]).encode()),
            parts=parts,
            is_selected=is_selected,
        )

    def _from_html(self, source: _Source) -> Converted | LeftOut:
        from agentweb.awp.content.extraction import TooDeep  # noqa: PLC0415 - as heavy as the converter

        try:
            return convert(
                source.body, url=self.origin + source.path, selector=self.selector, charset=source.charset
            )
        except TooDeep as error:
            # It will be so the next time too.
            return LeftOut(Reason.SIZE, str(error))


def _is_same(looked: Looked, first: Looked) -> bool:
    """Whether it is the same text at the same path. What failed is told once for each language."""
    one, other = looked.outcome, first.outcome
    return (
        isinstance(one, (Made, Unchanged))
        and isinstance(other, (Made, Unchanged))
        and (looked.path, one.digest) == (first.path, other.digest)
    )


def _first_heading(markdown: str) -> str:
    said = (found[1].rstrip(" \t#") for found in _HEADING.finditer(markdown))
    return next(filter(None, said), "")


def _is_known(charset: str) -> bool:
    try:
        "".encode(charset)
    except (LookupError, ValueError):
        return False
    return bool(charset)


def _clean(text: str) -> str:
    """Without what a database cannot hold: NUL, and halves of characters."""
    return text.replace("\0", "").encode(errors="replace").decode()


def _digest(of: bytes) -> str:
    return hashlib.sha256(of).hexdigest()
