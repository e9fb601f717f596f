"""Counts that are kept of texts: what is measured by them, when they are seen, and when they go."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agentweb.awp import budgets
from agentweb.awp.publishing import counted, counting, published
from agentweb.awp.publishing.models import CountedText
from agentweb.http.asking import own_place
from agentweb.testing import clock
from agentweb.wire import clock as clocks
from agentweb.wire import tokens

pytestmark = pytest.mark.django_db
TEXT = "Unbelievably aromatic leaves."
LONG = "Unbelievably aromatic leaves are sold here by whoever has picked them. "


@pytest.fixture(autouse=True)
def nothing_kept() -> Any:
    published.forget()
    yield
    published.forget()


def test_a_text_is_measured_by_its_count_and_one_that_was_not_counted_by_a_bound() -> None:
    assert counted.current().measure(TEXT) == budgets.at_most(TEXT) > tokens.count(TEXT)
    counted.keep({counted.digest_of(TEXT): tokens.count(TEXT), counted.digest_of(""): 0})
    assert counted.current().measure(TEXT) == tokens.count(TEXT)
    assert counted.current().measure("") == 0
    assert counted.current().measure(f"{TEXT}!") == budgets.at_most(f"{TEXT}!")


def test_counts_of_another_process_are_seen_within_five_seconds_and_then_cost_one_query() -> None:
    at = clocks.now()
    with clock(at):
        before = counted.current()
        CountedText.objects.create(digest=counted.digest_of(TEXT), tokens=6, seen_at=clocks.now_datetime())
    with clock(at + 4.9):
        assert counted.current() is before
    with clock(at + 5.1):
        assert counted.current().measure(TEXT) == 6
        assert counted.current() != before
    with clock(at + 11), CaptureQueriesContext(connection) as asked:
        assert counted.current().measure(TEXT) == 6
        assert counted.current().measure(TEXT) == 6
    assert len(asked) == 1


def test_what_is_counted_again_stays_and_what_is_not_goes_after_a_day() -> None:
    at = clocks.now()
    many = {f"{number:064}": 1 for number in range(700)}
    with clock(at):
        counted.keep({**many, "a": 1, "b": 2})
    with clock(at + timedelta(hours=23).total_seconds()):
        counted.keep({"a": 3})
        assert CountedText.objects.count() == 702
    with clock(at + timedelta(hours=25).total_seconds()):
        counted.keep({})
    assert dict(CountedText.objects.values_list("digest", "tokens")) == {"a": 3}


def test_a_document_is_made_anew_once_its_texts_are_counted(settings: Any, catalog: None) -> None:
    settings.AGENTWEB = {**settings.AGENTWEB, "AWP": {"DESCRIPTION": LONG * 30, "INSTRUCTIONS": LONG * 60}}
    place, languages = own_place(), ("en-us",)

    def served() -> list[bytes]:
        first = published.instructions_text(place, languages, number=1)
        assert first is not None
        return [published.well_known(place, languages).content, first.document.content]

    before = served()
    assert counting.count_texts() > 10
    after = served()
    assert all(len(one) < len(other) for one, other in zip(before, after, strict=True))


@pytest.mark.usefixtures("catalog")
def test_all_that_documents_are_fitted_from_is_counted(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = dict.fromkeys(("DESCRIPTION", "SUMMARY", "INSTRUCTIONS"), LONG * 80)
    settings.AGENTWEB = {**settings.AGENTWEB, "AWP": texts}
    settings.LANGUAGES = [("en-us", "English"), ("nl", "Dutch")]
    counting.count_texts()

    def guess(text: str) -> int:
        raise AssertionError(f"not counted: {text}")

    monkeypatch.setattr(counted, "at_most", guess)
    place = own_place()
    for languages in (("en-us",), ("nl", "en-us")):
        for build in (published.well_known, published.manifest, published.site_functions, published.llms_txt):
            assert build(place, languages).content
        assert published.summary_text(place, languages, number=2)
        assert published.instructions_text(place, languages, number=2)
