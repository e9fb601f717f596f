"""The line of the checklist on budgets."""

from __future__ import annotations

from typing import Final

from agentweb.awp.budgets import (
    API_DESCRIPTION,
    DISCOVERY_DESCRIPTION,
    FUNCTION_DESCRIPTION,
    INSTRUCTIONS,
    LLMS_INTRO,
    PAGE,
    SUMMARY,
)
from agentweb.awp.compliance.counts import Counted, CountedDocuments
from agentweb.awp.compliance.items import Measured
from agentweb.awp.compliance.problems import Problem, Severity

_FIXES: Final = {
    DISCOVERY_DESCRIPTION: "Shorten AGENTWEB['AWP']['DESCRIPTION'], and say the rest in the summary.",
    SUMMARY: "Shorten it; what it leaves out stands in the content of the pages.",
    INSTRUCTIONS: "Shorten them to what an agent must know before its first call.",
    PAGE: 'Serve the page in more parts: ?part=2 and so on, with Link: rel="next".',
    API_DESCRIPTION: "Shorten the description of the operation.",
    FUNCTION_DESCRIPTION: "Shorten the description of the function.",
    LLMS_INTRO: "Shorten what stands before the first list of links.",
}


def budgets(documents: CountedDocuments) -> Measured:
    """Nothing that is served has more tokens than its budget."""
    counts = documents.counts
    problems = [
        Problem(
            Severity.ERROR,
            "over_budget",
            f"{_of(each)} has {each.count} tokens; the budget is {each.budget.tokens:,}.",
            _FIXES[each.budget],
            each.pointer,
            each.spot,
            each.address,
        )
        for each in counts.texts
        if each.is_over
    ]
    if not counts.texts:
        missing = Problem(
            Severity.ERROR, "status", "Nothing that has a budget is served.", "Serve the documents of AWP."
        )
        return Measured("0 texts", [missing])
    value = f"{len(counts.texts) - len(problems):,} of {len(counts.texts):,} texts"
    if counts.pages_listed > len(documents.sample):
        value += f", of {len(documents.sample)} of {counts.pages_listed:,} pages"
    return Measured(value, [*problems, *counts.unread])


def _of(each: Counted) -> str:
    return f"{each.budget.title}, {each.name}," if each.name else each.budget.title
