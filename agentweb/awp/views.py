"""The documents of AWP over HTTP: the same for everybody, whoever asks, in the language that they ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.http import HttpResponse
from rest_framework.request import Request

from agentweb.access import callers
from agentweb.access.callers import Caller
from agentweb.awp import languages, protocol
from agentweb.awp.publishing import published
from agentweb.awp.publishing.published import Languages, Part
from agentweb.http import headers, queries
from agentweb.http.addresses import address_of
from agentweb.http.documents import Place
from agentweb.http.headers import Document, answer_document
from agentweb.http.mount import mount_prefix
from agentweb.http.views import AgentView, NothingHere
from agentweb.wire.errors import Code, RequestError
from agentweb.wire.schema import compile_schema

_PART: Final = compile_schema(
    {"type": "object", "properties": {"part": {"type": "integer", "minimum": 1, "maximum": 999_999}}}
)


class AwpView(AgentView):
    """Base of all views of the room: every answer, also an error, names the version."""

    @property
    def place(self) -> Place:
        return Place(self.origin, self.site, mount_prefix())

    @property
    def languages(self) -> Languages:
        """Those that the reader can read, best first. Raises 400 for ``?lang=`` that names none of the site's."""
        named = languages.named(self.query_pairs)
        return languages.readable(named or self.http_request.META.get("HTTP_ACCEPT_LANGUAGE", ""))

    def options(self, request: Request, *args: Any, **kwargs: Any) -> HttpResponse:  # type: ignore[override]
        if headers.is_preflight(self.http_request):
            return headers.preflight(protocol.METHODS)
        return super().options(request, *args, **kwargs)

    def finalize_response(  # type: ignore[override]
        self, request: Request, response: HttpResponse, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        response = super().finalize_response(request, response, *args, **kwargs)
        response[protocol.HEADER] = protocol.VERSION
        return response


class PublicView(AwpView):
    """What everybody gets alike. Nobody's signature is looked at, so no answer can depend on one."""

    limits_anonymous = False

    def identify(self) -> Caller:
        return callers.anonymous(address_of(self.http_request))

    def answer(self, document: Document, language: str) -> HttpResponse:
        return answer_document(
            self.http_request,
            document,
            is_public=True,
            max_age=protocol.MAX_AGE,
            language=language if languages.are_several() else None,
            by_caller=False,
        )

    def part(self) -> int:
        """The value of ``?part=``, 1 without it. Raises 400 for what is no number of a part."""
        return int(queries.typed(self.query_pairs, _PART).get("part", 1))


class DocumentView(PublicView):
    """A document that is made by ``build``."""

    build: Callable[[Place, Languages], Document] = staticmethod(lambda place, languages: Document(b""))

    def get(self, request: Request, **captured: Any) -> HttpResponse:
        found = self.languages
        return self.answer(self.build(self.place, found), found[0])


class PartView(PublicView):
    """A text in parts, of which ``?part=`` names one."""

    def find(self, languages: Languages, number: int, **captured: str) -> Part | None:
        """The part; None where there is none."""
        raise NotImplementedError

    def get(self, request: Request, **captured: str) -> HttpResponse:
        readable, number = self.languages, self.part()
        found = self.find(readable, number, **captured)
        if found is None:
            first = self.find(readable, 1, **captured) if number > 1 else None
            raise nothing_there(self.place, 0 if first is None else first.parts)
        response = self.answer(found.document, found.language)
        if found.links:
            response["Link"] = found.links
        return response


class SummaryView(PartView):
    def find(self, languages: Languages, number: int, **captured: str) -> Part | None:
        return published.summary_text(self.place, languages, number=number)


class InstructionsView(PartView):
    def find(self, languages: Languages, number: int, **captured: str) -> Part | None:
        return published.instructions_text(self.place, languages, number=number)


class LlmsFullView(PartView):
    def find(self, languages: Languages, number: int, **captured: str) -> Part | None:
        return published.all_texts(self.place, languages, number=number)


class PageView(PartView):
    """The content of one page: a row as it stands in the database."""

    def find(self, languages: Languages, number: int, **captured: str) -> Part | None:
        return published.page(captured["slug"], self.place, languages, number=number)


class SectionView(PublicView):
    """The list of all pages of one section."""

    def get(self, request: Request, **captured: str) -> HttpResponse:
        found = self.languages
        document = published.section(captured["ident"], self.place, found, number=self.part())
        if document is None:
            raise nothing_there(self.place, published.parts_of_section(captured["ident"], found))
        return self.answer(document, found[0])


class NothingView(AwpView, NothingHere):
    """What is under ``/awp/`` and is nothing."""


def nothing_there(place: Place, parts: int = 0) -> RequestError:
    """404 that says what there is: of a text with so many ``parts`` those, else the list of all."""
    if parts:
        there = "one part" if parts == 1 else f"{parts:,} parts"
        return RequestError(
            Code.NOT_FOUND, f"This text has {there}. Without ?part= you get the first.", field="part"
        )
    return RequestError(
        Code.NOT_FOUND, f"No content is here. {place.prefix}/{protocol.STRUCTURE} lists what there is."
    )
