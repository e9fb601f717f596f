"""The report as text, JSON, SARIF and JUnit: each with every line, its place and fix, and each valid of its kind."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from jsonschema import Draft7Validator

from agentweb.awp.compliance.checklist import CHECKLIST
from agentweb.awp.compliance.formats import DOCUMENTS
from agentweb.awp.compliance.formats.text import TextReport, can_show
from agentweb.awp.compliance.items import Outcome
from agentweb.awp.compliance.report import Report, analyze
from agentweb.awp.compliance.site import own_site
from tests.awp.compliance.sites import LLMS, POTS, WELL_KNOWN, SoundSite

pytestmark = pytest.mark.django_db

# What SARIF 2.1.0 asks of a log and of those parts that are used here: 3.13, 3.14, 3.19, 3.27, 3.28, 3.30, 3.49.
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string", "minLength": 1}}}
LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "additionalProperties": False,
    "properties": {
        "physicalLocation": {
            "type": "object",
            "required": ["artifactLocation"],
            "additionalProperties": False,
            "properties": {
                "artifactLocation": {
                    "type": "object",
                    "required": ["uri", "uriBaseId"],
                    "additionalProperties": False,
                    "properties": {
                        "uri": {"type": "string", "pattern": "^[^/:][^:]*$"},
                        "uriBaseId": {"const": "SITE"},
                    },
                },
                "region": {
                    "type": "object",
                    "required": ["startLine"],
                    "additionalProperties": False,
                    "properties": {
                        "startLine": {"type": "integer", "minimum": 1},
                        "startColumn": {"type": "integer", "minimum": 1},
                    },
                },
            },
        },
        "logicalLocations": {
            "type": "array",
            "items": {"type": "object", "required": ["fullyQualifiedName"]},
        },
    },
}
SARIF = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name", "rules"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "rules": {
                                        "type": "array",
                                        "uniqueItems": True,
                                        "items": {
                                            "type": "object",
                                            "required": ["id", "shortDescription", "fullDescription"],
                                            "additionalProperties": False,
                                            "properties": {
                                                "id": {"type": "string"},
                                                "name": {"type": "string", "pattern": "^[A-Za-z0-9]+$"},
                                                "shortDescription": TEXT,
                                                "fullDescription": TEXT,
                                                "defaultConfiguration": {
                                                    "type": "object",
                                                    "properties": {
                                                        "level": {
                                                            "enum": ["none", "note", "warning", "error"]
                                                        }
                                                    },
                                                },
                                                "properties": {"type": "object"},
                                            },
                                        },
                                    },
                                },
                            }
                        },
                    },
                    "invocations": {
                        "type": "array",
                        "items": {"type": "object", "required": ["executionSuccessful"]},
                    },
                    "originalUriBaseIds": {
                        "type": "object",
                        "properties": {
                            "SITE": {
                                "type": "object",
                                "required": ["uri"],
                                "properties": {"uri": {"type": "string", "pattern": "^https?://[^/]+/$"}},
                            }
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "properties": {"type": "object"},
                    "results": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["message", "ruleId", "ruleIndex", "level"],
                            "additionalProperties": False,
                            "properties": {
                                "ruleId": {"type": "string"},
                                "ruleIndex": {"type": "integer", "minimum": 0},
                                "level": {"enum": ["none", "note", "warning", "error"]},
                                "kind": {
                                    "enum": [
                                        "notApplicable",
                                        "pass",
                                        "fail",
                                        "review",
                                        "open",
                                        "informational",
                                    ]
                                },
                                "message": TEXT,
                                "locations": {"type": "array", "items": LOCATION},
                                "properties": {"type": "object"},
                            },
                            # 3.27.10: a level other than none is for the kind fail alone, which is the default.
                            "if": {"required": ["kind"], "properties": {"kind": {"not": {"const": "fail"}}}},
                            "then": {"properties": {"level": {"const": "none"}}},
                            "else": {"properties": {"level": {"not": {"const": "none"}}}},
                        },
                    },
                },
            },
        },
    },
}


@pytest.fixture
def faulty(sound: SoundSite) -> Report:
    """A requirement and a recommendation that are not met, with texts of somebody else's in what is told."""
    sound.put(
        WELL_KNOWN, '{"version": "1.0",\n "name": "Shop",\n "description": "Tea", "x\\u202e<&>\\u0007": 1}'
    )
    sound.put(POTS, ["tea " * 2_500])
    sound.bodies.pop(LLMS)
    return analyze(own_site())


@pytest.fixture
def passed(sound: SoundSite) -> Report:
    return analyze(own_site())


def text(report: Report, *, is_unicode: bool = True) -> str:
    written = TextReport(is_unicode=is_unicode)
    lines = [each for line in report.lines for each in written.line(line)]
    return "\n".join([*lines, *written.budgets(report.budgets), written.summary(report)])


@pytest.mark.requirement("AWP-7.15")
@pytest.mark.parametrize("name", ["text", *DOCUMENTS])
def test_every_format_names_each_item_and_the_place_and_fix_of_each_fault(faulty: Report, name: str) -> None:
    told = text(faulty) if name == "text" else DOCUMENTS[name](faulty)
    plain = told.replace("&quot;", '"').replace('\\"', '"')
    for item in CHECKLIST:
        assert item.title in plain
    assert "'description' must have at least 10 characters; it has 3." in plain
    assert "Say in one or two sentences what the site is" in plain
    assert "2,501 tokens" in plain
    assert "awp/content/pots.md" in plain
    assert "Serve a list of the site's texts there" in plain


def test_json_has_everything(faulty: Report) -> None:
    told = json.loads(DOCUMENTS["json"](faulty))
    assert told["compliant"] is False
    assert told["score"] == faulty.score
    assert [item["id"] for item in told["items"]] == [item.id for item in CHECKLIST]
    [members] = [item for item in told["items"] if item["id"] == "awp/members"]
    assert members["outcome"] == "failed"
    problem = next(each for each in members["problems"] if each["pointer"] == "/description")
    assert (problem["line"], problem["column"], problem["address"]) == (3, 17, WELL_KNOWN)
    page = next(row for row in told["budgets"] if row["name"] == "page")
    assert (page["most"], page["budget"], page["over"], page["texts"]) == (2_501, 2_000, 1, 3)


@pytest.mark.parametrize("which", ["faulty", "passed"])
def test_sarif_is_valid_and_every_result_is_of_its_rule(request: pytest.FixtureRequest, which: str) -> None:
    report: Report = request.getfixturevalue(which)
    log: Any = json.loads(DOCUMENTS["sarif"](report))
    assert list(Draft7Validator(SARIF).iter_errors(log)) == []
    [run] = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [item.id for item in CHECKLIST]
    assert all(rules[result["ruleIndex"]]["id"] == result["ruleId"] for result in run["results"])
    assert {result["ruleId"] for result in run["results"]} == {item.id for item in CHECKLIST}
    kinds = {result.get("kind", "fail") for result in run["results"]}
    assert kinds == ({"pass", "fail"} if which == "faulty" else {"pass"})


def test_sarif_has_the_place_and_errors_only_for_requirements(faulty: Report) -> None:
    [run] = json.loads(DOCUMENTS["sarif"](faulty))["runs"]
    result = next(each for each in run["results"] if "'description'" in each["message"]["text"])
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == WELL_KNOWN.lstrip("/")
    assert place["region"] == {"startLine": 3, "startColumn": 17}
    assert result["properties"]["fix"].startswith("Say in one or two sentences")
    required = {item.id for item in CHECKLIST if item.is_required}
    assert {each["ruleId"] for each in run["results"] if each["level"] == "error"} <= required


@pytest.mark.parametrize("which", ["faulty", "passed"])
def test_junit_is_valid_and_its_counts_are_right(request: pytest.FixtureRequest, which: str) -> None:
    report: Report = request.getfixturevalue(which)
    root = ElementTree.fromstring(DOCUMENTS["junit"](report))  # noqa: S314 - our own
    assert root.tag == "testsuites"
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == ["required", "recommended"]
    for suite in suites:
        cases = suite.findall("testcase")
        assert int(suite.get("tests", "")) == len(cases)
        assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure"))
        assert int(suite.get("skipped", "")) == len(suite.findall("testcase/skipped"))
        assert int(suite.get("errors", "")) == 0
        for case in cases:
            assert case.get("name")
            assert case.get("classname")
            assert float(case.get("time", "")) >= 0
            # In the order that the schema of Jenkins has: one of skipped and failure, then what was printed.
            assert [part.tag for part in case] in (
                ["system-out"],
                ["failure", "system-out"],
                ["skipped", "system-out"],
            )
            for part in case.findall("failure"):
                assert part.get("message")
                assert part.get("type")
                assert part.text
    failed = {case.get("classname") for case in root.iter("testcase") if case.find("failure") is not None}
    assert failed == {line.item.id.replace("/", ".") for line in report.with_outcome(Outcome.FAILED)}


def test_text_has_a_tick_a_cross_or_a_warning_for_each_item(faulty: Report) -> None:
    told = text(faulty)
    marks = {title: mark for mark, title in re.findall(r"^  (✓|!|✗) (.+?)  ", told, re.MULTILINE)}
    assert marks["There is llms.txt"] == "!"
    assert marks["Nothing that is served is over its token budget"] == "✗"
    assert marks["There are instructions for agents"] == "✓"
    assert f"{WELL_KNOWN}:3:17: 'description'" in told
    assert f"Score {faulty.score} of 100: the site does not keep AWP 1.0." in told


def test_text_shows_the_budgets_as_bars(faulty: Report, sound: SoundSite) -> None:
    told = text(faulty)
    assert re.search(r"Per-page content +█{24}  2,501 of 2,000 +3 texts, 1 over  /awp/content/pots.md", told)
    assert re.search(
        r"Content summary \(summary.md\) +█░{23}  \d+ of 500 +1 text  /awp/content/summary.md", told
    )
    assert re.search(r"llms.txt intro +░{24}  no text", told)


def test_text_is_ascii_where_the_terminal_is(faulty: Report) -> None:
    told = text(faulty, is_unicode=False)
    assert not re.search("[✓✗█░]", told)
    assert "FAIL Nothing that is served" in told
    assert [can_show(each) for each in ("utf-8", "ascii", "cp1252", None, "no-such-encoding")] == [
        True, False, False, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["text", *DOCUMENTS])
def test_no_text_of_the_site_can_turn_a_report_around(sound: SoundSite, name: str) -> None:
    odd = "\u202e\x1b[31m\x00<script>&]]>"
    sound.put(WELL_KNOWN, json.dumps({"version": odd, "name": odd, "capabilities": [odd], odd: {odd: odd}}))
    sound.types[WELL_KNOWN] = "text/html; charset=<b>"
    sound.put("/awp/content/pots.md", "x")
    report = analyze(own_site())
    told = text(report) if name == "text" else DOCUMENTS[name](report)
    assert "\u202e" not in told
    assert "\x1b" not in told
    if name == "junit":
        ElementTree.fromstring(told)  # noqa: S314 - our own


def test_a_problem_that_is_everywhere_is_told_once_with_its_fix(sound: SoundSite) -> None:
    def change(request: Any, response: Any) -> None:
        del response["X-AWP-Version"]

    sound.change = change
    told = text(analyze(own_site()))
    assert told.count("Fix: Send X-AWP-Version: 1.0") == 1
    assert re.search(r"… and \d+ more of the same", told)
