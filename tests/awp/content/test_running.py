"""A run: what it publishes, what it leaves out and why, and what it does when it comes by again."""

from __future__ import annotations

import gzip
import signal
import zlib
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.http import HttpResponse, StreamingHttpResponse
from django.utils import timezone, translation

from agentweb import page
from agentweb.awp.content import published, running
from agentweb.awp.content.models import ContentPage, ContentPart, ContentRun
from agentweb.awp.content.outcomes import Failed
from agentweb.awp.content.rendering import LEFT_OPEN, Renderer
from agentweb.awp.content.running import Run, Summary
from agentweb.awp.content.runs import Superseded
from agentweb.wire.clock import clock
from tests.site.models import Note
from tests.support.bounded import run_bounded


def run() -> Summary:
    found = running.run()
    assert found is not None
    return found


def paths() -> dict[str, str]:
    """Slug -> path of every page."""
    return dict(ContentPage.objects.order_by("slug").values_list("slug", "path"))


def text(slug: str, *languages: str) -> str:
    found = published.page_part(slug, 1, languages)
    assert found is not None
    assert found.text is not None
    return found.text


def why(summary: Summary) -> dict[str, str]:
    return {each.path: str(each.why.reason) for each in summary.reports}


def only(site: Any, *listed: str) -> None:
    """Let the sitemap have these paths and nothing else."""
    site.sitemaps = {"shop pages": site.Paths(*listed)}


def test_every_page_of_a_sitemap_is_published(site: Any) -> None:
    summary = run()
    assert paths() == {"articles/red": "/articles/red/", "articles/blue": "/articles/blue/"}
    assert "A red shoe." in text("articles/red")
    assert "Menu" not in text("articles/red")
    found = published.page_part("articles/red", 1)
    assert found is not None
    assert (found.entry.title, found.entry.section, found.entry.parts) == ("Red", "articles", 1)
    assert summary.is_complete
    assert summary.counts == {
        "created": 2, "changed": 0, "unchanged": 0, "removed": 0, "left_out": 0, "failed": 0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/private/", "login"),
        ("/to-login/", "login"),
        ("/forbidden/", "login"),
        ("/mine/", "login"),
        ("/ours/", "login"),
        ("/nowhere/", "gone"),
        ("/meta/", "noindex"),
        ("/tag-2/", "noindex"),
        ("/away/", "elsewhere"),
        ("/away-2/", "elsewhere"),
        ("/loop/", "redirects"),
        ("/data/", "type"),
        ("/download/", "type"),
        ("/events/", "type"),
        ("/zipped/", "type"),
        ("/endless/", "size"),
        ("/empty/", "empty"),
        ("/teapot/", "status"),
        ("https://elsewhere.example/x", "address"),
    ],
)
def test_a_page_that_is_for_nobody_is_left_out_with_its_reason(site: Any, path: str, reason: str) -> None:
    only(site, path, "/articles/red/")
    summary = run()
    assert why(summary) == {path: reason}
    assert paths() == {"articles/red": "/articles/red/"}
    assert summary.is_complete
    assert summary.counts["left_out"] == 1


@pytest.mark.parametrize(
    "path", ["/crash/", "/exits/", "/busy/", "/interrupts/", "/leaks/", "/leaks-and-crashes/"]
)
def test_a_page_that_raises_is_reported_and_the_rest_goes_on(site: Any, path: str) -> None:
    only(site, path, "/articles/red/")
    summary = run()
    [report] = summary.reports
    assert isinstance(report.why, Failed)
    assert paths() == {"articles/red": "/articles/red/"}
    assert not summary.is_complete
    assert published.state().updated_at is None


def test_a_page_with_a_field_for_a_password_is_one_where_nobody_is_sent_to_log_in(site: Any) -> None:
    only(site, "/sign-in/", "/old-sign-in/", "/with-box/")
    run()
    assert sorted(paths().values()) == ["/box/", "/sign-in/"]


def test_a_page_that_begins_a_transaction_and_never_ends_it_has_written_nothing(site: Any) -> None:
    only(site, "/leaks/", "/articles/red/", "/leaks/?again", "/leaks-and-crashes/")
    summary = run()
    assert {each.path: each.why.detail for each in summary.reports} == {
        "/leaks/": LEFT_OPEN,
        "/leaks/?again": LEFT_OPEN,
        "/leaks-and-crashes/": LEFT_OPEN,
    }
    assert not Note.objects.exists()
    assert not ContentRun.objects.filter(is_running=True).exists()


def test_ctrl_c_ends_a_run_in_the_middle_of_a_page_and_the_next_one_may_begin(site: Any) -> None:
    only(site, "/is-interrupted/")
    # In the background a shell lets its programs ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run()
    finally:
        signal.signal(signal.SIGINT, before)
    assert not ContentRun.objects.filter(is_running=True).exists()


def test_a_change_of_what_the_answer_is_said_to_be_is_a_change(site: Any) -> None:
    only(site, "/said/")
    site.SAID = "text/plain; charset=utf-8"
    run()
    assert text("said") == "<p>é</p>"
    for kind, expected in (("text/html; charset=utf-8", "é\n"), ("text/html; charset=iso-8859-1", "Ã©\n")):
        site.SAID = kind
        run()
        assert text("said") == expected


def test_a_run_is_heard_of_between_the_redirects_of_a_page(
    site: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(site, "/rules/5/")
    ticks: list[int] = []
    asked: list[int] = []
    monkeypatch.setattr(Run, "_tick", lambda run: ticks.append(len(asked)))
    asking = Renderer.ask

    def ask(renderer: Renderer, path: str, *of: Any) -> Any:
        asked.append(1)
        return asking(renderer, path, *of)

    monkeypatch.setattr(Renderer, "ask", ask)
    run()
    # One of them is robots.txt, of which there is nothing to be renewed before.
    assert set(range(1, len(asked) + 1)) <= set(ticks)
    assert len(asked) == 7


def test_a_list_knows_of_each_page_that_was_written_or_removed_at_once(site: Any) -> None:
    only(site, "/articles/red/", "/articles/blue/")
    run()
    site.PAGES["red"] = "A green hat."
    del site.PAGES["blue"]
    with running.begin() as found:
        states = [published.state().revision for _ in found.pages()]
    assert [state.partition(".")[2] for state in states] == ["1", "2"]
    assert ContentRun.objects.latest("pk").changes == 2


def test_a_run_that_was_taken_for_dead_removes_nothing(site: Any) -> None:
    only(site, "/articles/red/", "/articles/blue/")
    run()
    site.PAGES.clear()
    with running.begin() as found:
        ContentRun.objects.update(is_running=False)
        with pytest.raises(Superseded):
            list(found.pages())
    assert len(paths()) == 2


def test_what_a_crashing_page_raised_is_in_the_report(site: Any) -> None:
    only(site, "/crash/")
    [report] = run().reports
    assert report.why.detail == "RuntimeError: the shelf fell over"


def test_visitors_have_no_cookies_no_session_and_nobodys_language(site: Any) -> None:
    only(site, "/who/")
    with translation.override("nl"), timezone.override("America/Lima"):
        run()
        assert (translation.get_language(), timezone.get_current_timezone_name()) == ("nl", "America/Lima")
    assert site.seen == {
        "cookies": {},
        "user": "",
        "session": {},
        "language": "en-us",
        "host": "shop.example",
        "is_secure": True,
        "agent": "agentweb-content",
        "authorization": None,
        "zone": "America/Chicago",
    }
    assert not Session.objects.exists()


def test_a_second_run_touches_nothing_that_stayed(site: Any) -> None:
    run()
    before = {row.slug: row for row in ContentPage.objects.all()}
    parts = set(ContentPart.objects.values_list("pk", flat=True))
    site.PAGES["blue"] = "A dark blue shoe."
    summary = run()
    after = {row.slug: row for row in ContentPage.objects.all()}
    assert (summary.counts["changed"], summary.counts["unchanged"]) == (1, 1)
    assert after["articles/red"].updated_at == before["articles/red"].updated_at
    assert after["articles/red"].confirmed_at > before["articles/red"].confirmed_at
    assert after["articles/blue"].updated_at > before["articles/blue"].updated_at
    assert "dark blue" in text("articles/blue")
    assert len(parts & set(ContentPart.objects.values_list("pk", flat=True))) == 1


@pytest.mark.parametrize("path", ["/etag/", "/form/"])
def test_what_is_new_in_every_answer_is_no_change(
    site: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    only(site, path)
    run()
    monkeypatch.setattr("agentweb.awp.content.making.Maker._from_html", None)
    assert run().counts["unchanged"] == 1


def test_a_page_that_is_hidden_now_goes_at_once(site: Any) -> None:
    only(site, "/articles/red/", "/articles/blue/", "/crash/")
    run()
    del site.PAGES["red"]
    summary = run()
    assert (summary.counts["removed"], summary.counts["failed"]) == (1, 1)
    assert paths() == {"articles/blue": "/articles/blue/"}


def test_a_page_that_is_listed_nowhere_any_more_goes_at_the_end(site: Any) -> None:
    run()
    only(site, "/articles/red/")
    assert run().counts["removed"] == 1
    assert paths() == {"articles/red": "/articles/red/"}
    assert ContentPart.objects.count() == 1


def test_a_page_that_fails_for_once_stays_as_it_was(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    only(site, "/articles/red/", "/moved/")
    site.sitemaps = {"all": site.Paths("/moved/", "/articles/blue/")}
    run()
    assert paths() == {"articles/red": "/articles/red/", "articles/blue": "/articles/blue/"}
    with monkeypatch.context() as patched:
        patched.setattr(site, "PAGES", None)
        summary = run()
    assert summary.counts["failed"] == 2
    assert paths() == {"articles/red": "/articles/red/", "articles/blue": "/articles/blue/"}
    assert run().is_complete


def test_a_sitemap_that_cannot_be_read_loses_nothing(site: Any) -> None:
    run()

    class Broken(site.Paths):  # type: ignore[name-defined, misc]
        def location(self, item: str) -> str:
            raise ValueError("no such table")

    site.sitemaps = {"broken": Broken("/articles/blue/"), "rest": site.Paths("/articles/red/")}
    summary = run()
    assert why(summary) == {"broken": "sitemap"}
    assert not summary.is_complete
    assert set(paths()) == {"articles/red", "articles/blue"}


def test_a_redirect_is_the_page_to_which_it_leads_and_that_is_there_once(site: Any) -> None:
    only(site, "/moved/", "/articles/red/", "/moved-relative/")
    summary = run()
    assert summary.counts["created"] == 2
    assert sorted(paths().values()) == ["/articles/red/", "/articles/red/?ref=1"]


def test_markdown_and_plain_text_are_content_as_they_are(site: Any) -> None:
    only(site, "/guide.md", "/plain/", "/streamed/")
    run()
    assert text("guide.md") == "# Guide\n\nRead *this*.\n"
    assert text("plain") == "Bonjour, ça va"
    assert "Two." in text("streamed")
    assert {row.slug: row.title for row in ContentPage.objects.all()} == {
        "guide.md": "Guide",
        "plain": "/plain/",
        "streamed": "Streamed",
    }


def test_a_text_of_one_long_line_is_content_at_once_and_its_first_heading_its_title() -> None:
    run_bounded(
        "import django; django.setup()\n"
        "from agentweb.awp.content.making import _first_heading\n"
        "assert _first_heading('## #\\n# a' + ' ' * 200_000 + 'b  #\\n# c') == 'a' + ' ' * 200_000 + 'b'\n"
        "assert _first_heading('#' * 200_000 + ' ' * 200_000) == ''\n"
    )


def test_what_robots_txt_disallows_is_left_out(site: Any) -> None:
    site.ROBOTS = "User-agent: *\nDisallow: /articles/b\nDisallow: /*?sort=\nAllow: /articles/blue-open$\n"
    only(site, "/articles/red/", "/articles/blue/", "/articles/red/?sort=price")
    assert why(run()) == {"/articles/blue/": "robots", "/articles/red/?sort=price": "robots"}
    assert set(paths()) == {"articles/red"}


def test_without_an_answer_of_robots_txt_everything_stays(site: Any) -> None:
    run()
    site.ROBOTS = "503"
    summary = run()
    assert why(summary) == {"/robots.txt": "robots"}
    assert not summary.is_complete
    assert len(paths()) == 2


RULES = b"User-agent: *\nDisallow: /articles/blue\n"


@pytest.mark.parametrize(
    "answer",
    [
        lambda: HttpResponse(b"\xef\xbb\xbf" + RULES, content_type="text/plain"),
        lambda: HttpResponse(RULES.decode().encode("utf-16"), content_type="text/plain"),
        lambda: HttpResponse(RULES, content_type="text/markdown"),
        lambda: HttpResponse(RULES, content_type="application/json"),
        lambda: HttpResponse(RULES, status=203),
        lambda: HttpResponse(RULES + b"#" * 6_000_000, content_type="text/plain"),
        lambda: StreamingHttpResponse(
            iter([RULES, *[b"# and more\n" * 50_000] * 20]), content_type="text/plain"
        ),
        lambda: HttpResponse(gzip.compress(RULES), headers={"Content-Encoding": "gzip"}),
        lambda: HttpResponse(zlib.compress(RULES), headers={"Content-Encoding": "deflate"}),
        lambda: HttpResponse(RULES, headers={"Content-Encoding": "identity"}),
        lambda: HttpResponse(status=301, headers={"Location": "/rules/4/"}),
        lambda: HttpResponse(status=308, headers={"Location": "http://shop.example/rules/0/"}),
    ],
    ids=range(12),
)
def test_robots_txt_holds_however_it_is_answered(site: Any, answer: Any) -> None:
    site.ROBOTS = answer
    assert why(run()) == {"/articles/blue/": "robots"}
    assert set(paths()) == {"articles/red"}


@pytest.mark.parametrize(
    "answer",
    [
        lambda: HttpResponse(status=302, headers={"Location": "https://elsewhere.example/robots.txt"}),
        lambda: HttpResponse(status=302, headers={"Location": "/rules/9/"}),
        lambda: HttpResponse(status=304),
        lambda: HttpResponse(status=429),
        lambda: HttpResponse(RULES, headers={"Content-Encoding": "br"}),
        lambda: HttpResponse(RULES, headers={"Content-Encoding": "gzip"}),
    ],
    ids=range(6),
)
def test_where_nobody_can_read_robots_txt_nothing_is_published(site: Any, answer: Any) -> None:
    site.ROBOTS = answer
    summary = run()
    assert why(summary) == {"/robots.txt": "robots"}
    assert summary.counts["failed"] == 1
    assert paths() == {}


def test_half_a_rule_at_the_end_of_what_is_read_is_none(site: Any) -> None:
    beginning = "User-agent: *\nDisallow: /\n#"
    rule = "Allow: /articles/red-and-nothing-else\n"
    # Cut behind "/articles/red".
    padding = "#" * (500 * 1024 - len(beginning) - len("\nAllow: /articles/red"))
    site.ROBOTS = lambda: HttpResponse(f"{beginning}{padding}\n{rule}", content_type="text/plain")
    assert why(run()) == {"/articles/red/": "robots", "/articles/blue/": "robots"}


def test_a_tag_for_another_robot_is_not_for_us(site: Any) -> None:
    only(site, "/tag/")
    assert run().counts["created"] == 1


def test_a_page_that_was_to_be_gone_by_now_goes_though_it_is_the_same(site: Any) -> None:
    only(site, "/until/")
    with clock(lambda: 1_939_999_999.0):
        assert run().counts["created"] == 1
        assert run().counts["unchanged"] == 1
    with clock(lambda: 1_950_000_000.0):
        assert why(run()) == {"/until/": "noindex"}
    assert paths() == {}


def test_registered_pages_are_published_by_their_view_or_their_own_text(site: Any) -> None:
    site.sitemaps = {}
    page("/articles/red", title="The red shoe", description="Red.")
    page("/about", title="About us", markdown="We are *us*.")
    page(
        "/told",
        title="Told",
        markdown=lambda ctx: f"# For {ctx.user.username or 'anybody'} at {ctx.request.path}",
    )
    page("/articles/<str:name>", title="An article")
    run()
    rows = {row.slug: (row.title, row.source, row.section) for row in ContentPage.objects.all()}
    assert rows == {
        "articles/red": ("The red shoe", "view", "pages"),
        "about": ("About us", "declared", "pages"),
        "told": ("Told", "declared", "pages"),
    }
    assert text("about") == "We are *us*."
    assert text("told") == "# For anybody at /told"


def test_a_registered_page_that_visitors_may_not_see_is_left_out(site: Any) -> None:
    page("/articles/<str:name>", title="An article", permission=lambda user, name: name == "red")
    page("/secret", title="Secret", markdown="Nobody knows.", permission=lambda user: user.is_staff)
    assert why(run()) == {"/secret": "hidden", "/articles/blue/": "hidden"}
    assert set(paths()) == {"articles/red"}


def test_the_text_of_a_page_with_parameters_comes_with_the_sitemap(site: Any) -> None:
    page("/articles/<str:name>", title="An article", markdown=lambda ctx: f"# All of {ctx.kwargs['name']}")
    run()
    assert text("articles/red") == "# All of red"
    assert ContentPage.objects.get(slug="articles/red").title == "All of red"
    assert site.visits == {}


def test_a_run_is_noted_with_what_it_left_out(site: Any) -> None:
    only(site, "/private/", "/articles/red/")
    run()
    row = ContentRun.objects.get()
    assert (row.is_running, row.is_complete, row.changes) == (False, True, 1)
    assert row.finished_at is not None
    assert published.state().updated_at == row.finished_at


def test_a_page_that_is_left_out_is_told_by_the_run_and_not_by_the_log(
    site: Any, caplog: pytest.LogCaptureFixture
) -> None:
    only(site, "/nowhere/", "/crash/")
    run()
    assert [record.getMessage() for record in caplog.records] == ["Internal Server Error: /crash/"]
