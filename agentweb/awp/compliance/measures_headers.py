"""The lines of the checklist that are about headers: on every kind of answer, not only on those that went well."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from agentweb.awp import protocol
from agentweb.awp.compliance.documents import WELL_KNOWN, Documents
from agentweb.awp.compliance.items import Measured
from agentweb.awp.compliance.problems import Problem, Severity
from agentweb.awp.compliance.reading import shown
from agentweb.awp.compliance.site import Reply

PAGE: Final = "https://agent.example"
SAMPLED_PAGES: Final = 3
NOWHERE: Final = f"{protocol.ROOT}/agentweb-check/no-such-path"

_VERSION: Final = protocol.HEADER.lower()
_ORIGIN: Final = {"Origin": PAGE}
_PREFLIGHT: Final = {
    **_ORIGIN,
    "Access-Control-Request-Method": "GET",
    "Access-Control-Request-Headers": "authorization",
}
_FIX_VERSION: Final = (
    f"Send {protocol.HEADER}: {protocol.VERSION} on every answer there: in the server's configuration that is "
    "`always` (nginx add_header, Apache Header), for plain headers are left out of errors and of 304."
)
_FIX_CORS: Final = (
    "Send Access-Control-Allow-Origin: * on every answer there, with and without an Origin in the request. Where "
    "django-cors-headers answers in our place, keep its CORS_URLS_REGEX off these paths."
)
_FIX_TEXT: Final = (
    "Send Access-Control-Allow-Origin: * with it: where it is the site's own file or view, agentweb does not answer "
    "there."
)


class Asked(NamedTuple):
    """A reply and how the question is told: ``GET``, ``GET with If-None-Match``."""

    question: str
    reply: Reply


def version_header(documents: Documents) -> Measured:
    """X-AWP-Version on every answer under /awp/ and of the well-known manifest."""
    asked = list(answers(documents))
    problems = [
        _problem(
            each,
            _VERSION,
            f"has {protocol.HEADER}: {shown(given)}" if given is not None else f"has no {protocol.HEADER}",
            _FIX_VERSION,
        )
        for each in asked
        if (given := each.reply.header(_VERSION)) != protocol.VERSION
    ]
    return _measured(asked, problems)


def cors(documents: Documents) -> Measured:
    """Every page may read every AWP answer, and no cookie of its visitor comes along."""
    texts = list(_texts(documents))
    asked = [*answers(documents), *texts]
    problems: list[Problem] = []
    for each in asked:
        # That one may be the site's own.
        fix = _FIX_TEXT if each in texts else _FIX_CORS
        allowed = each.reply.header("access-control-allow-origin")
        if allowed != "*":
            said = f"allows the origin {shown(allowed)} only" if allowed else "allows no other origin"
            problems.append(_problem(each, "allow_origin", said, fix))
        if (each.reply.header("access-control-allow-credentials") or "").strip().lower() == "true":
            problems.append(
                _problem(
                    each,
                    "allow_credentials",
                    "lets other pages send cookies along",
                    "Leave Access-Control-Allow-Credentials out: browsers refuse it beside *.",
                    Severity.WARNING,
                )
            )
    return _measured(asked, problems)


def answers(documents: Documents) -> Iterator[Asked]:
    """Of every AWP endpoint that is there: found, unchanged, to HEAD and OPTIONS; and of what is not there."""
    site = documents.site
    for address in _endpoints(documents):
        plain = Asked("GET", site.get(address))
        yield plain
        if plain.reply.answer is None:
            continue
        yield Asked("GET from another page", site.ask("GET", address, _ORIGIN))
        yield Asked("HEAD", site.ask("HEAD", address))
        yield Asked("OPTIONS before a call from another page", site.ask("OPTIONS", address, _PREFLIGHT))
        yield from _unchanged(plain.reply, documents)
    for address in dict.fromkeys((WELL_KNOWN, documents.full_address)):
        yield Asked("OPTIONS", site.ask("OPTIONS", address))
        # The one method besides reading that is sent to a stranger, without a body, to what only can be read.
        yield Asked("POST", site.ask("POST", address))
    nowhere = documents.address(NOWHERE)
    yield Asked("GET of what is not there", site.get(nowhere))
    yield Asked("GET of what is not there from another page", site.ask("GET", nowhere, _ORIGIN))


def _unchanged(reply: Reply, documents: Documents) -> Iterator[Asked]:
    tag = reply.header("etag")
    if reply.status != 200 or not tag:
        return
    headers: Mapping[str, str] = {"If-None-Match": tag}
    again = documents.site.ask("GET", reply.address, headers)
    yield Asked(f"GET with If-None-Match, status {again.status},", again)


def _endpoints(documents: Documents) -> list[str]:
    """Those of the contracts, and what the manifest says there is besides."""
    manifest = documents.manifest
    listed = manifest.get("capabilities")
    capabilities = [each for each in listed if isinstance(each, str)] if isinstance(listed, list) else []
    found = [
        WELL_KNOWN,
        documents.full_address,
        documents.address(protocol.SUMMARY),
        documents.address(protocol.STRUCTURE),
        documents.address(protocol.INSTRUCTIONS),
    ]
    if documents.functions:
        found.append(documents.functions_address)
    if "search" in capabilities:
        search = documents.address(protocol.SEARCH)
        found += [f"{search}?q=a", search]
    if documents.site.is_own:
        found += [documents.address(protocol.VALIDATE), documents.address(protocol.ANALYTICS)]
    found += [page.address for page in documents.sample[:SAMPLED_PAGES]]
    return list(dict.fromkeys(found))


def _texts(documents: Documents) -> Iterator[Asked]:
    """llms.txt is no endpoint of AWP, but agents' pages read it as well; where it is."""
    reply = documents.site.ask("GET", documents.llms_address, _ORIGIN)
    if reply.status == 200:
        yield Asked("GET from another page", reply)


def _problem(asked: Asked, code: str, said: str, fix: str, severity: Severity = Severity.ERROR) -> Problem:
    reply = asked.reply
    if reply.answer is None:
        return Problem(
            Severity.ERROR,
            "no_answer",
            f"The answer to {asked.question} {reply.said}.",
            "Let it be answered.",
            address=reply.address,
        )
    return Problem(
        severity, code, f"The answer to {asked.question} ({reply.status}) {said}.", fix, address=reply.address
    )


def _measured(asked: list[Asked], problems: list[Problem]) -> Measured:
    wrong = {(problem.address, problem.message.partition(" (")[0]) for problem in problems}
    return Measured(f"{len(asked) - len(wrong)} of {len(asked)} answers", problems)
