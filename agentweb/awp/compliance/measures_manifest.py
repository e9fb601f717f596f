"""The lines of the checklist that are about the discovery manifest itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from agentweb.awp import protocol
from agentweb.awp.compliance import recommendations
from agentweb.awp.compliance.answers import absent, not_cached, wrong_type
from agentweb.awp.compliance.documents import WELL_KNOWN, Documents
from agentweb.awp.compliance.items import Measured
from agentweb.awp.compliance.manifest import validate
from agentweb.awp.compliance.problems import Problem, Severity
from agentweb.awp.compliance.reading import shown
from agentweb.awp.compliance.recommendations import Remark
from agentweb.awp.compliance.site import Reply
from agentweb.awp.content import published
from agentweb.awp.content.failing import CORRECT, some
from agentweb.wire.clock import now_datetime
from agentweb.wire.strict_json import dumps

SERVE: Final = (
    f"Serve the manifest at {WELL_KNOWN} at the root of the host, with status 200 and to everybody; "
    'with agentweb: path("", include("agentweb.urls")), or *agentweb.urls.well_known beside an include under a path.'
)
_MEMBERS: Final = ("name", "description", "capabilities")


def valid_json(documents: Documents) -> Measured:
    """The well-known manifest is there, as JSON, with the headers of its contract."""
    reply = documents.well_known
    problems = list(absent(reply, "The manifest", SERVE))
    if problems:
        return Measured(f"status {reply.status}", problems)
    problems += wrong_type(reply, protocol.JSON)
    problems += not_cached(reply)
    validation = documents.validation
    if validation is not None:
        problems += [
            Problem(
                Severity.ERROR, fault.code, fault.message, fault.fix, fault.pointer, fault.spot, WELL_KNOWN
            )
            for fault in validation.reading.faults
        ]
        if validation.reading.is_readable and validation.manifest is None:
            problems.append(
                Problem(
                    Severity.ERROR,
                    "type",
                    "The manifest is JSON, but no object.",
                    'Write one object: {"version": "1.0", …}.',
                    "",
                    validation.reading.spot(""),
                    WELL_KNOWN,
                )
            )
    return Measured(f"status 200, {len(reply.body):,} bytes", problems)


def version(documents: Documents) -> Measured:
    """``version`` of both manifests."""
    problems = _of_schema(documents, lambda pointer: pointer == "/version")
    if not documents.manifest:
        return Measured("no manifest", problems or [_no_manifest()])
    full = documents.full
    if isinstance(full, dict) and full.get("version") != protocol.VERSION:
        problems.append(
            Problem(
                Severity.ERROR,
                "const",
                f"'version' of the full manifest is {_value(full.get('version'))}.",
                f'Write "version": "{protocol.VERSION}" in every manifest.',
                address=documents.full_address,
            )
        )
    return Measured(_value(documents.manifest.get("version")), problems)


def members(documents: Documents) -> Measured:
    """The required members, the rest of the schema, and that the full manifest is where it is said to be."""
    problems = _of_schema(documents, lambda pointer: pointer != "/version")
    manifest = documents.manifest
    if not manifest:
        return Measured("no manifest", problems or [_no_manifest()])
    endpoints = manifest.get("endpoints")
    there: list[str] = [name for name in _MEMBERS if name in manifest]
    if isinstance(endpoints, dict) and "manifest" in endpoints:
        there.append("endpoints.manifest")
        problems += _full_manifest(documents)
    return Measured(f"{len(there)} of 4: {', '.join(there)}" if there else "none of 4", problems)


def _full_manifest(documents: Documents) -> Iterator[Problem]:
    validation = documents.validation
    spot = None if validation is None else validation.reading.spot("/endpoints/manifest")
    if documents.endpoint("manifest") is None:
        yield Problem(
            Severity.ERROR,
            "endpoint",
            "'endpoints.manifest' leads to no address of this site.",
            f'Write the path: "/{protocol.MANIFEST}".',
            "/endpoints/manifest",
            spot,
            WELL_KNOWN,
        )
        return
    reply = documents.site.get(documents.full_address)
    found = list(
        absent(reply, "The full manifest", "Serve it where 'endpoints.manifest' says, to everybody.")
    )
    yield from found
    if found:
        return
    yield from wrong_type(reply, protocol.JSON)
    yield from not_cached(reply)
    if not isinstance(documents.full, dict):
        yield _first_fault(reply, documents)


def _first_fault(reply: Reply, documents: Documents) -> Problem:
    faults = validate(reply.body, max_bytes=documents.site.bounds.max_bytes).reading.faults
    if faults:
        first = faults[0]
        return Problem(
            Severity.ERROR, first.code, first.message, first.fix, first.pointer, first.spot, reply.address
        )
    return Problem(
        Severity.ERROR,
        "type",
        "The full manifest is no JSON object.",
        "Write one object.",
        address=reply.address,
    )


def content_endpoint(documents: Documents) -> Measured:
    """``endpoints.content``, and that something is there."""
    if not documents.manifest:
        return Measured("no manifest", [_no_manifest(Severity.WARNING)])
    problems = _remarked(documents, recommendations.content_endpoint)
    endpoints = documents.manifest.get("endpoints")
    given = endpoints.get("content") if isinstance(endpoints, dict) else None
    address = documents.endpoint("content")
    if address is not None:
        fix = "Let 'endpoints.content' name an address that answers."
        problems += absent(documents.site.get(address), "'endpoints.content'", fix, Severity.WARNING)
    return Measured(_value(given) if isinstance(given, str) else "none", problems)


def updated_at(documents: Documents) -> Measured:
    if not documents.manifest:
        return Measured("no manifest", [_no_manifest(Severity.WARNING)])
    moment = recommendations.updated_at(documents.manifest)
    problems = _remarked(documents, recommendations.freshness)
    failing = published.failing() if problems and documents.site.is_own else []
    if failing:
        # Another run, or a date that is written by hand, would not help.
        problems = [
            replace(each, message=f"{each.message} The last run failed at {some(failing)}.", fix=CORRECT)
            for each in problems
        ]
    if moment is None:
        return Measured("none", problems)
    days = max(0, (now_datetime() - moment).days)
    return Measured(f"{days} day{'' if days == 1 else 's'} ago", problems)


def authentication(documents: Documents) -> Measured:
    if not documents.manifest:
        return Measured("no manifest", [_no_manifest(Severity.WARNING)])
    given = documents.manifest.get("authentication")
    required = given.get("required") if isinstance(given, dict) else None
    value = "none" if given is None else f"required: {_value(required)}"
    return Measured(value, _remarked(documents, recommendations.authentication))


def rate_limits(documents: Documents) -> Measured:
    if not documents.manifest:
        return Measured("no manifest", [_no_manifest(Severity.WARNING)])
    given = documents.manifest.get("rate_limits")
    limits = given if isinstance(given, dict) else {}
    said = [
        f"{_value(limits[name])} a {name.rpartition('_')[2]}"
        for name in ("requests_per_minute", "requests_per_day")
        if name in limits
    ]
    return Measured(", ".join(said) or "none", _remarked(documents, recommendations.rate_limits))


def _of_schema(documents: Documents, is_wanted: Callable[[str], bool]) -> list[Problem]:
    """What breaks the schema at these pointers; faults of the JSON are another line's."""
    validation = documents.validation
    if validation is None:
        return []
    faults = {(fault.spot, fault.code) for fault in validation.reading.faults}
    return [
        replace(problem, address=WELL_KNOWN)
        for problem in validation.problems
        if problem.severity is Severity.ERROR
        and (problem.spot, problem.code) not in faults
        and is_wanted(problem.pointer)
        and validation.manifest is not None
    ]


def _remarked(documents: Documents, recommendation: Callable[..., Iterator[Remark]]) -> list[Problem]:
    validation = documents.validation
    return [
        Problem(
            Severity.WARNING,
            remark.code,
            remark.message,
            remark.fix,
            remark.pointer,
            None if validation is None else validation.reading.spot(remark.pointer),
            WELL_KNOWN,
        )
        for remark in recommendation(documents.manifest)
    ]


def _no_manifest(severity: Severity = Severity.ERROR) -> Problem:
    return Problem(
        severity,
        "status",
        "There is no manifest that can be read.",
        "See the first line.",
        address=WELL_KNOWN,
    )


def _value(value: Any) -> str:
    """A value of somebody else's, as JSON and not long."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "a list"
    return "none" if value is None else dumps(value).decode()
