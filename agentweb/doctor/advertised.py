"""What the site advertises, and how the answer to it is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from agentweb import rooms
from agentweb.http.documents import PublicDocument
from agentweb.http.doors import all_doors
from agentweb.http.probes import Answer, Examined
from agentweb.wire.errors import RequestError
from agentweb.wire.strict_json import loads

LOG: Final = "See the log of agentweb.http for the request, and the traceback there."
MIDDLEWARE: Final = (
    "Find the middleware or the view that answers in agentweb's place, and keep it off its paths."
)
MOUNT: Final = (
    'Include agentweb.urls in the root URLconf, above what catches all: path("", include("agentweb.urls")); '
    "under a path add *agentweb.urls.well_known."
)
NAMED: Final = (
    "agentweb itself answers there, and has nothing: correct or leave out what names that address, and look at the "
    "setting that switches it on."
)
_LARGEST: Final = 50_000_000


def documents(site: Examined) -> Iterator[tuple[str, PublicDocument, Answer]]:
    """Path, document and the answer to a GET, of every public document."""
    for document in rooms.documents():
        path = document.path_at(site.place)
        yield path, document, site.ask("GET", path)


def sound_documents(site: Examined) -> Iterator[tuple[str, PublicDocument, Answer]]:
    """Those of ``documents`` that are there and ours; of the others D050 tells, and nothing more is to be learned."""
    for path, document, answer in documents(site):
        if answer.status == 200 and answer.is_ours:
            yield path, document, answer


def doors(site: Examined) -> list[str]:
    """Paths of all doors."""
    return [door.path_at(site.place) for door in all_doors()]


def addresses(site: Examined) -> list[str]:
    """Paths of all documents and doors, each once."""
    return sorted({*(document.path_at(site.place) for document in rooms.documents()), *doors(site)})


def is_dead(answer: Answer) -> bool:
    """Whether nothing of ours is there; D050, D051 or D052 says so."""
    return answer.is_redirect or answer.status in {404, 410} or answer.status >= 500 or not answer.is_ours


def error_code(answer: Answer) -> str | None:
    """The code of an error of ours, None when the answer is none."""
    if not answer.is_ours:
        return None
    try:
        body: Any = loads(answer.body, max_bytes=_LARGEST)
        return str(body["error"]["code"])
    except (RequestError, LookupError, TypeError):
        return None


def said(answer: Answer) -> str:
    """What was logged, else the code of the error."""
    code = error_code(answer)
    if answer.log and answer.status >= 500:
        return f" ({answer.log[0]})"
    return f" ({code})" if code else ""


def cure(answer: Answer) -> str:
    """What to do about an answer that is not the one that was to come."""
    if answer.status == 400 and not answer.is_ours:
        return "Django itself refused it: look at ALLOWED_HOSTS and AGENTWEB['ORIGIN']."
    if answer.status == 404:
        return NAMED if answer.is_ours else MOUNT
    return LOG if answer.status >= 500 else MIDDLEWARE
