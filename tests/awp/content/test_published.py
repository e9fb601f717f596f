"""Reading what is published: one query along an index for a part, and lists for manifests."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from agentweb.awp.content import published
from agentweb.awp.content.models import ContentPage, ContentPart, ContentRun

pytestmark = pytest.mark.django_db


def stored(slug: str, language: str = "en-us", *texts: str, section: str = "pages") -> ContentPage:
    at = timezone.now()
    row = ContentPage.objects.create(
        slug=slug,
        language=language,
        listed_as=slug,
        path=f"/{slug}",
        title=slug.title(),
        section=section,
        source="view",
        source_digest="",
        digest="",
        tokens=10 * len(texts),
        parts=len(texts),
        updated_at=at,
        confirmed_at=at,
        seen_in=1,
    )
    for number, text in enumerate(texts, 1):
        ContentPart.objects.create(page=row, number=number, text=text, tokens=10, digest=f"{number}")
    return row


def test_a_part_is_read_with_its_page_by_one_query(django_assert_num_queries: Any) -> None:
    stored("about", "en-us", "One.", "Two.")
    with django_assert_num_queries(1):
        found = published.page_part("about", 2)
    assert found is not None
    assert (found.number, found.text, found.tokens, found.digest) == (2, "Two.", 10, "2")
    assert (found.entry.title, found.entry.path, found.entry.parts, found.entry.tokens) == (
        "About",
        "/about",
        2,
        20,
    )


def test_the_query_goes_along_indexes() -> None:
    for number in range(300):
        stored(f"page-{number}", "en-us", "One.")
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("ANALYZE")
            cursor.execute("SET LOCAL enable_seqscan = off")
    plans: list[str] = []

    def explained(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        prefix = "EXPLAIN QUERY PLAN " if connection.vendor == "sqlite" else "EXPLAIN "
        with connection.cursor() as cursor:
            execute_now = cursor.cursor.execute
            execute_now(prefix + sql, params)
            plans.extend(str(row) for row in cursor.fetchall())
        return execute(sql, params, many, context)

    with connection.execute_wrapper(explained):
        published.page_part("page-7", 1, ("nl",))
    plan = "\n".join(plans)
    assert "SCAN agentweb" not in plan
    assert "Seq Scan" not in plan
    if connection.vendor == "sqlite":
        assert "(slug=?)" in plan
        assert "(page_id=? AND number=?)" in plan
    else:
        assert "agentweb_content_page_once" in plan
        assert "agentweb_content_part_once" in plan


def test_a_part_that_is_not_there_is_told_from_a_page_that_is_not() -> None:
    stored("about", "en-us", "One.")
    found = published.page_part("about", 2)
    assert found is not None
    assert found.text is None
    assert found.entry.parts == 1
    assert published.page_part("nothing", 1) is None


@pytest.mark.parametrize(
    ("slug", "number"),
    [("", 1), ("a\0b", 1), ("x" * 200, 1), ("about", 0), ("about", -1), ("about", 2**31), ("about", 10**30)],
)
def test_what_can_be_no_page_or_part_is_asked_of_no_database(
    slug: str, number: int, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(0):
        assert published.page_part(slug, number) is None


@pytest.mark.parametrize(
    ("asked", "language"),
    [((), "en-us"), (("nl",), "nl"), (("fr", "nl", "en-us"), "nl"), (("NL",), "nl"), (("fr",), "en-us")],
)
def test_the_first_language_that_is_there_is_read(asked: tuple[str, ...], language: str) -> None:
    stored("about", "en-us", "One.")
    stored("about", "nl", "Een.")
    stored("about", "de", "Eins.")
    found = published.page_part("about", 1, asked)
    assert found is not None
    assert found.entry.language == language
    [listed] = published.in_languages(published.entries(), asked)
    assert listed.language == language


def test_a_page_in_another_language_only_is_read_in_that(django_assert_num_queries: Any) -> None:
    stored("about", "nl", "Een.", "Twee.")
    stored("about", "de", "Eins.")
    found = published.page_part("about", 2)
    assert found is not None
    # The first by its code, and part 2 of that one, which has no second part.
    assert (found.entry.language, found.text) == ("de", None)


def test_lists_are_by_section_and_path(django_assert_num_queries: Any) -> None:
    stored("b", section="pages")
    stored("a", section="shoes")
    stored("a", "nl", section="shoes")
    stored("c", section="pages")
    with django_assert_num_queries(1):
        assert [(each.section, each.slug, each.language) for each in published.entries()] == [
            ("pages", "b", "en-us"),
            ("pages", "c", "en-us"),
            ("shoes", "a", "en-us"),
            ("shoes", "a", "nl"),
        ]
    assert [each.slug for each in published.entries(section="shoes")] == ["a", "a"]
    with django_assert_num_queries(1):
        assert [(each.id, each.title, each.pages) for each in published.sections()] == [
            ("pages", "Pages", 2),
            ("shoes", "Shoes", 2),
        ]
    assert published.languages_there() == ["en-us", "nl"]
    assert published.has_pages()


def test_the_state_changes_with_the_content(django_assert_num_queries: Any) -> None:
    assert published.state() == published.State("0.0", None)
    at = timezone.now()
    done = ContentRun.objects.create(
        started_at=at, leased_until=at, finished_at=at, is_running=False, is_complete=True, changes=3
    )
    assert published.state() == published.State(f"{done.pk}.3", at)
    going_on = ContentRun.objects.create(started_at=at, leased_until=at, changes=1)
    with django_assert_num_queries(1):
        assert published.state() == published.State(f"{going_on.pk}.1", at)
