"""``/awp/instructions.md``: how an agent should go about it here. The settings' text, else one made of what is on."""

from __future__ import annotations

from agentweb.awp import protocol
from agentweb.awp.publishing import description, functions
from agentweb.awp.publishing.discovery import rate_limits
from agentweb.awp.publishing.facts import ACTIONS_DOOR, Facts
from agentweb.awp.publishing.wording import one_line


def source(facts: Facts) -> str:
    """The instructions, of any length."""
    return facts.instructions if facts.instructions is not None else _made(facts)


def _made(facts: Facts) -> str:
    steps = [
        f"Read the [summary]({facts.path(protocol.SUMMARY)}), then choose pages in the "
        f"[structure]({facts.path(protocol.STRUCTURE)}).",
    ]
    if facts.content.pages:
        steps.append(
            'Each page is Markdown of at most 2,000 tokens; a longer one has more parts: follow Link rel="next", or '
            "?part=2."
        )
    if "awp_search" in facts.doors:
        steps.append(f"Search by GET {facts.doors['awp_search']}?q=words.")
    if facts.actions:
        steps.append(f"Call what is in [functions]({facts.path(protocol.FUNCTIONS)}) at its method and path.")
    if any(functions.needs_authentication(action) for action in facts.actions):
        steps.append(
            "Where auth_required is true, sign the request under a grant of a person: "
            f"{facts.doors[ACTIONS_DOOR]} says what each action needs."
        )
    if "aim" in facts.doors:
        steps.append(f"Agents write to each other as {facts.doors['aim']} says.")
    limits = rate_limits(facts.anonymous_rate, facts.caller_rate)
    counted = (
        f"; {limits['requests_per_minute']} calls a minute pass" if "requests_per_minute" in limits else ""
    )
    steps.append(f"On 429 wait as long as Retry-After says{counted}.")
    steps.append("Errors are JSON: error.message says what would be right.")
    title = f"# Using {one_line(description.name(facts))}"
    return "\n\n".join([title, "\n".join(f"{at}. {step}" for at, step in enumerate(steps, 1))]) + "\n"
