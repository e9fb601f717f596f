"""What of a manifest is found by a search: its actions and flows, each with the terms that it has.

All texts are the site's, so they are data: cut to a length, without characters that a terminal acts on, and never
taken for anything but text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from agentweb.client.crawling import About
from agentweb.client.flows.costs import flow_cost
from agentweb.client.manifest import EFFECTS, NAME, DeclaredCost, Manifest, ManifestAction, ManifestFlow
from agentweb.client.ranking_actions import action_impacts
from agentweb.wire.money import format_amount
from agentweb.wire.visible import visible

ACTION: Final = "action"
FLOW: Final = "flow"

MAX_DESCRIPTION: Final = 500
MAX_FLOWS: Final = 500
_MAX_READ: Final = 20_000
"""Characters of one text whose words count."""
_GRAVEST: Final = ("read", "write", "send", "delete", "spend")


@dataclass(frozen=True, slots=True)
class Entry:
    """One action or flow. ``amount`` is in minor units, None where it has none or an input says it, or where it shows
    only as a flow runs; a flow has the gravest ``effect`` of its steps. ``terms`` are what ``client.ranking`` calls
    impacts."""

    kind: str
    name: str
    description: str
    effect: str
    scope: str | None = None
    currency: str | None = None
    amount: int | None = None
    cost_field: str | None = None
    terms: Mapping[str, int] = field(default_factory=dict, repr=False)

    @property
    def cost(self) -> dict[str, Any] | None:
        """As a manifest has it, the amount as a text."""
        if self.currency is None:
            return None
        if self.cost_field is not None:
            return {"currency": self.currency, "field": self.cost_field}
        if self.amount is None:
            return {"currency": self.currency}
        return {"currency": self.currency, "amount": format_amount(self.amount, self.currency)}


def entries_of(manifest: Manifest, about: About | None = None) -> list[Entry]:
    """The actions and flows of a manifest, by name; ``about`` is what the site says of itself elsewhere.

    Without the site's own words, "buy printer paper" would not find an office shop whose action is called checkout. A
    flow that cannot run is not among them, and none whose name is not one that an action may have.
    """
    said = about or About()
    site = f"{host_words(manifest.site)} {said.name} {said.summary}"[:_MAX_READ]
    flows = {
        name: flow
        for name, flow in list(manifest.flows.items())[:MAX_FLOWS]
        if NAME.fullmatch(name) and not flow.problems
    }
    calling: defaultdict[str, list[str]] = defaultdict(list)
    for flow in flows.values():
        for called in dict.fromkeys(_steps(flow)):
            calling[called].append(flow.name)
    found = [_action(action, calling[action.name], site) for action in manifest.actions.values()]
    found += [_flow(flow, manifest, site) for flow in flows.values()]
    return sorted(found, key=lambda entry: (entry.name, entry.kind))


def shown(text: str, longest: int = MAX_DESCRIPTION) -> str:
    """A text of a site as it may be shown: no longer, and nothing in it that acts on a terminal."""
    text = visible(" ".join(text[: 4 * longest].split()))
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def _action(action: ManifestAction, flows: list[str], site: str) -> Entry:
    title, tags = action.document.get("title"), action.document.get("tags")
    words = [title if isinstance(title, str) else ""]
    words += [each for each in tags[:20] if isinstance(each, str)] if isinstance(tags, list) else []
    cost = action.cost or DeclaredCost("")
    return Entry(
        kind=ACTION,
        name=action.name,
        description=shown(action.description),
        effect=action.effect,
        scope=action.scope,
        currency=cost.currency or None,
        amount=cost.amount,
        cost_field=None if cost.field is None else shown(cost.field),
        terms=action_impacts(
            name=action.name,
            title=" ".join(words)[:_MAX_READ],
            description=action.description[:_MAX_READ],
            effect=action.effect,
            input_schema=action.input if isinstance(action.input, dict) else None,
            flows=flows[:20],
            site=site,
        ),
    )


def _flow(flow: ManifestFlow, manifest: Manifest, site: str) -> Entry:
    steps = [manifest.actions[name] for name in _steps(flow) if name in manifest.actions]
    effect = max((step.effect for step in steps), key=_GRAVEST.index, default="read")
    cost = flow_cost(flow, manifest.actions) or DeclaredCost("")
    return Entry(
        kind=FLOW,
        name=flow.name,
        description=shown(flow.description),
        effect=effect,
        currency=cost.currency or None,
        amount=cost.amount,
        cost_field=None if cost.field is None else shown(cost.field),
        terms=action_impacts(
            name=flow.name,
            description=flow.description[:_MAX_READ],
            effect=effect,
            input_schema=flow.input if isinstance(flow.input, dict) else None,
            # What its steps are called is what it does.
            flows=[step.name for step in steps[:20]],
            site=site,
        ),
    )


def _steps(flow: ManifestFlow) -> list[str]:
    named = [step.get("action") for step in flow.steps if isinstance(step, dict)]
    return [name for name in named if isinstance(name, str)]


def host_words(site: str) -> str:
    """``green-leaf.example`` says something too; the port and the last label do not."""
    host = site.rpartition(":")[0] if site[-1:].isdigit() and ":" in site else site
    return host.rpartition(".")[0].replace(".", " ").replace("-", " ")


assert set(_GRAVEST) == set(EFFECTS)  # noqa: S101 - two orders of one set
