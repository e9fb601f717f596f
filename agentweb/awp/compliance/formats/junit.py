"""The report as JUnit XML, which build servers show as tests: each item one test case.

A requirement that is not met is a failure, a recommendation that is not met a skipped test with its reason: JUnit
knows no warnings, and a build must not turn red for what is only advised.
"""

from __future__ import annotations

from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from agentweb.awp.compliance.items import Line, Outcome
from agentweb.awp.compliance.problems import Problem
from agentweb.awp.compliance.report import Report

NAME: Final = "AWP 1.0"


def render(report: Report) -> str:
    suites = Element("testsuites", name=f"{NAME} {report.origin}{report.prefix}")
    for is_required, name in ((True, "required"), (False, "recommended")):
        lines = [line for line in report.lines if line.item.is_required is is_required]
        failed = sum(line.outcome is Outcome.FAILED for line in lines)
        skipped = sum(_is_skipped(line) for line in lines)
        suite = SubElement(
            suites,
            "testsuite",
            name=name,
            tests=str(len(lines)),
            failures=str(failed),
            errors="0",
            skipped=str(skipped),
            time="0",
        )
        if is_required:
            properties = SubElement(suite, "properties")
            SubElement(properties, "property", name="score", value=str(report.score))
        for line in lines:
            _case(suite, line)
    indent(suites)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(suites, encoding="unicode")


def _is_skipped(line: Line) -> bool:
    return line.outcome is Outcome.WARNED and not line.item.is_required


def _case(suite: Element, line: Line) -> None:
    case = SubElement(
        suite, "testcase", name=line.item.title, classname=line.item.id.replace("/", "."), time="0"
    )
    if line.outcome is Outcome.FAILED:
        failure = SubElement(
            case, "failure", message=line.problems[0].message, type=str(line.problems[0].code)
        )
        failure.text = _told(line)
    elif _is_skipped(line):
        SubElement(case, "skipped", message=line.problems[0].message)
    out = SubElement(case, "system-out")
    out.text = "\n".join(
        [f"measured: {line.measured}", *([] if line.outcome is Outcome.FAILED else [_told(line)])]
    )


def _told(line: Line) -> str:
    lines = [_problem(problem) for problem in line.problems]
    if line.left_out:
        lines.append(f"and {line.left_out} more")
    return "\n".join(lines)


def _problem(problem: Problem) -> str:
    where = problem.address
    if problem.spot is not None:
        where += f":{problem.spot.line}:{problem.spot.column}"
    return f"{where}: {problem.message} {problem.fix}".removeprefix(": ")
