"""The report as SARIF 2.1.0 (OASIS), which code hosts show beside the lines of a file.

Every item of the checklist is a rule; every problem a result with the place and the fix; an item without problems a
result of the kind ``pass``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from agentweb import __version__
from agentweb.awp import protocol
from agentweb.awp.compliance.items import Item, Line
from agentweb.awp.compliance.problems import Problem, Severity
from agentweb.awp.compliance.report import Report

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
VERSION: Final = "2.1.0"
BASE: Final = "SITE"

_LEVELS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def render(report: Report) -> str:
    return json.dumps(as_sarif(report), indent=2)


def as_sarif(report: Report) -> dict[str, Any]:
    """The log as a value."""
    rules = [line.item for line in report.lines]
    run = {
        "tool": {
            "driver": {
                "name": "agentweb",
                "version": __version__,
                "rules": [_rule(item) for item in rules],
            }
        },
        "invocations": [{"executionSuccessful": True}],
        "originalUriBaseIds": {BASE: {"uri": f"{report.origin}/"}},
        "columnKind": "unicodeCodePoints",
        "results": [result for index, line in enumerate(report.lines) for result in _results(index, line)],
        "properties": {
            "score": report.score,
            "compliant": report.is_compliant,
            "budgets": [row.as_dict() for row in report.budgets],
        },
    }
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _rule(item: Item) -> dict[str, Any]:
    return {
        "id": item.id,
        "name": "".join(part.capitalize() for part in item.id.replace("/", "-").split("-")),
        "shortDescription": {"text": f"{item.title}."},
        "fullDescription": {"text": item.about},
        "defaultConfiguration": {"level": "error" if item.is_required else "warning"},
        "properties": {"required": item.is_required},
    }


def _results(index: int, line: Line) -> Iterator[dict[str, Any]]:
    told = {"ruleId": line.item.id, "ruleIndex": index}
    for problem in line.problems:
        yield {
            **told,
            "level": _level(problem, line.item),
            "message": {"text": f"{problem.message} {problem.fix}"},
            **({"locations": [_location(problem)]} if problem.address else {}),
            "properties": {"code": str(problem.code), "fix": problem.fix},
        }
    if not line.problems:
        yield {
            **told,
            "kind": "pass",
            "level": "none",
            "message": {"text": f"{line.item.title}: {line.measured}."},
            "locations": [_place(f"/{protocol.WELL_KNOWN}")],
        }


def _level(problem: Problem, item: Item) -> str:
    """A recommendation that is not met is no error, whatever is wrong with it."""
    level = _LEVELS[problem.severity]
    return "warning" if level == "error" and not item.is_required else level


def _location(problem: Problem) -> dict[str, Any]:
    location = _place(problem.address)
    if problem.spot is not None:
        region = {"startLine": problem.spot.line, "startColumn": problem.spot.column}
        location["physicalLocation"]["region"] = region
    if problem.pointer:
        location["logicalLocations"] = [{"fullyQualifiedName": problem.pointer, "kind": "member"}]
    return location


def _place(address: str) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": address.lstrip("/"), "uriBaseId": BASE}}}
