"""The manifest and the tests agree, in both directions."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.spec.marker import Scan, scan_tree
from tests.spec.requirement import LEVELS, TOPICS
from tests.spec.requirements import REQUIREMENTS

ID = re.compile(r"(?:(?:AA|AWP|AIP)-[1-9][0-9]*|AIM-S[1-9][0-9]*)\.[1-9][0-9]*")


@pytest.fixture(scope="module")
def scan() -> Scan:
    return scan_tree(Path(__file__).resolve().parents[1])


def test_every_implemented_requirement_has_a_test_that_runs(scan: Scan) -> None:
    proven = {proof.requirement for proof in scan.proofs if proof.runs}
    assert [r.id for r in REQUIREMENTS if r.implemented and r.id not in proven] == []


def test_every_marker_names_a_requirement_of_the_manifest(scan: Scan) -> None:
    known = {requirement.id for requirement in REQUIREMENTS}
    assert [(p.test, p.requirement) for p in scan.proofs if p.requirement not in known] == []


def test_every_marker_stands_on_a_test_that_pytest_collects(scan: Scan) -> None:
    assert scan.problems == []


def test_a_planned_or_excused_requirement_has_no_test_yet(scan: Scan) -> None:
    waiting = {requirement.id for requirement in REQUIREMENTS if not requirement.implemented}
    # A requirement listed here is tested by now: delete its planned= (or reason=) in the manifest.
    assert [(p.requirement, p.test) for p in scan.proofs if p.requirement in waiting] == []


def test_ids_are_unique_and_well_formed() -> None:
    ids = [requirement.id for requirement in REQUIREMENTS]
    assert [id_ for id_, times in Counter(ids).items() if times > 1] == []
    assert [id_ for id_ in ids if not ID.fullmatch(id_)] == []


def test_ids_stand_in_the_order_of_their_numbers() -> None:
    by_specification: dict[str, list[list[int]]] = defaultdict(list)
    for requirement in REQUIREMENTS:
        numbers = [int(number) for number in re.findall(r"\d+", requirement.id)]
        by_specification[requirement.specification].append(numbers)
    assert list(by_specification) == ["AA", "AWP", "AIP", "AIM"]
    for numbers in by_specification.values():
        assert numbers == sorted(numbers)


def test_requirements_of_one_number_are_of_one_section() -> None:
    sections: dict[str, set[str]] = defaultdict(set)
    for requirement in REQUIREMENTS:
        sections[requirement.id.partition(".")[0]].add(requirement.section)
    assert {number: names for number, names in sections.items() if len(names) > 1} == {}


def test_all_numbered_facts_of_the_messenger_are_covered() -> None:
    numbers = {r.id.partition(".")[0] for r in REQUIREMENTS if r.specification == "AIM"}
    assert numbers == {f"AIM-S{number}" for number in range(1, 29)}


def test_behaviours_are_unique_sentences() -> None:
    behaviours = [requirement.behaviour for requirement in REQUIREMENTS]
    assert [text for text, times in Counter(behaviours).items() if times > 1] == []
    assert [text for text in behaviours if not text.endswith(".") or text != " ".join(text.split())] == []


def test_sections_and_reasons_are_not_empty() -> None:
    assert [r.id for r in REQUIREMENTS if not r.section.strip()] == []
    assert [r.id for r in REQUIREMENTS if r.reason is not None and not r.reason.strip()] == []


def test_levels_and_topics_are_known() -> None:
    assert [r.id for r in REQUIREMENTS if r.level not in LEVELS] == []
    assert [r.id for r in REQUIREMENTS if r.planned is not None and r.planned not in TOPICS] == []


def test_no_requirement_is_planned_and_excused_at_once() -> None:
    assert [r.id for r in REQUIREMENTS if r.planned is not None and r.reason is not None] == []
