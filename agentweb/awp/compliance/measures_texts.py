"""The lines of the checklist on documents that should be there: each answers, is of its type, and holds something."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from agentweb.awp import protocol
from agentweb.awp.budgets import INSTRUCTIONS, SUMMARY, Budget
from agentweb.awp.compliance.answers import absent, wrong_type
from agentweb.awp.compliance.counting import count_for
from agentweb.awp.compliance.counts import text_of
from agentweb.awp.compliance.documents import Documents
from agentweb.awp.compliance.items import Measured
from agentweb.awp.compliance.manifest import validate
from agentweb.awp.compliance.problems import Problem, Severity
from agentweb.awp.compliance.reading import shown
from agentweb.awp.compliance.site import Reply

_WARNING = Severity.WARNING


def summary(documents: Documents) -> Measured:
    return _text(
        documents,
        protocol.SUMMARY,
        SUMMARY,
        "The summary",
        "Serve a summary of the site in Markdown there; with agentweb it is made by itself.",
    )


def instructions(documents: Documents) -> Measured:
    return _text(
        documents,
        protocol.INSTRUCTIONS,
        INSTRUCTIONS,
        "The file of instructions",
        "Serve what agents must know in Markdown there; with agentweb it is made by itself.",
    )


def structure(documents: Documents) -> Measured:
    reply = documents.get(protocol.STRUCTURE)
    fix = "Serve the site's navigation and sections as JSON there; with agentweb it is made by itself."
    problems = list(absent(reply, "The structure", fix, _WARNING))
    if problems:
        return Measured(f"status {reply.status}", problems)
    problems += wrong_type(reply, protocol.JSON, _WARNING)
    reading = validate(reply.body, max_bytes=documents.site.bounds.max_bytes).reading
    problems += [
        Problem(_WARNING, fault.code, fault.message, fault.fix, fault.pointer, fault.spot, reply.address)
        for fault in reading.faults
    ]
    value = reading.value
    if reading.is_readable and not (
        isinstance(value, dict) and any(isinstance(value.get(each), list) for each in _LISTS)
    ):
        problems.append(
            Problem(
                _WARNING,
                "type",
                "The structure is no object with a list of navigation or of sections.",
                'Write {"version": "1.0", "navigation": […], "sections": […]}.',
                "",
                reading.spot(""),
                reply.address,
            )
        )
    problems += _repeated(value, reply)
    count = len(documents.pages)
    return Measured(f"status 200, {count:,} page{'' if count == 1 else 's'} listed", problems)


def _repeated(value: Any, reply: Reply) -> Iterator[Problem]:
    """A remark on pages that are called the same."""
    sections = value.get("sections") if isinstance(value, dict) else None
    pages = [
        page
        for section in (sections if isinstance(sections, list) else ())
        if isinstance(section, dict) and isinstance(section.get("pages"), list)
        for page in section["pages"]
        if isinstance(page, dict) and isinstance(page.get("title"), str)
    ]
    title, times = next(iter(Counter(page["title"] for page in pages).most_common(1)), ("", 0))
    if times > 1:
        yield Problem(
            Severity.NOTE,
            "titles",
            f"{times:,} of {len(pages):,} listed pages have the title {shown(title)}: agents choose pages by it.",
            "Give each page a <title> or <h1> of its own.",
            address=reply.address,
        )


def llms(documents: Documents) -> Measured:
    reply = documents.site.get(documents.llms_address)
    fix = "Serve a list of the site's texts there, in the form of llmstxt.org; with agentweb it is made by itself."
    problems = list(absent(reply, "llms.txt", fix, _WARNING))
    if problems:
        return Measured(f"status {reply.status}", problems)
    problems += wrong_type(reply, protocol.PLAIN, _WARNING, others=(protocol.MARKDOWN,))
    if not text_of(reply).lstrip("\ufeff").startswith("# "):
        problems.append(
            Problem(
                _WARNING,
                "heading",
                "llms.txt does not begin with a heading.",
                "Let its first line be # and the site's name.",
                "",
                None,
                reply.address,
            )
        )
    return Measured(f"status 200, {len(reply.body):,} bytes", problems)


_LISTS = ("navigation", "sections", "pages")


def _text(documents: Documents, path: str, budget: Budget, what: str, fix: str) -> Measured:
    reply = documents.get(path)
    problems = list(absent(reply, what, fix, _WARNING))
    if problems:
        return Measured(f"status {reply.status}", problems)
    count = count_for(text_of(reply), budget)
    problems += wrong_type(reply, protocol.MARKDOWN, _WARNING)
    problems += _empty(reply, what, fix)
    if count.tokens > budget.tokens:
        problems.append(
            Problem(
                _WARNING,
                "over_budget",
                f"{what} has {count} tokens; the budget is {budget.tokens}.",
                "Shorten it.",
                address=reply.address,
            )
        )
    return Measured(f"{count} of {budget.tokens} tokens", problems)


def _empty(reply: Reply, what: str, fix: str) -> Iterator[Problem]:
    if not reply.body.strip():
        yield Problem(_WARNING, "empty", f"{what} is empty.", fix, address=reply.address)
