"""Before the first step: what the flow needs, and the most that it may cost as far as that is known.

A price that stands in the manifest, in the step itself or in the flow's input is known; one that an earlier step will
answer is not, and neither is that of a spend action without a cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentweb.client.flows.engine import FlowStep
from agentweb.client.inputs import cost_of
from agentweb.client.manifest import ManifestAction
from agentweb.wire.errors import AgentError
from agentweb.wire.money import format_amount
from agentweb.wire.references import references_in, resolve
from agentweb.wire.strict_json import Json


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """``amount`` is minor units of ``currency`` at most; None when it is not known beforehand, or costs nothing."""

    number: int
    action: ManifestAction
    currency: str | None = None
    amount: int | None = None

    @property
    def spends(self) -> bool:
        return self.action.effect == "spend"


@dataclass(frozen=True, slots=True)
class FlowPlan:
    """The steps that are still to come."""

    flow: str
    site: str
    steps: tuple[PlannedStep, ...] = field(default=())

    @property
    def most(self) -> dict[str, str]:
        """Currency -> the most that the steps with a known price may cost together."""
        sums: dict[str, int] = {}
        for step in self.steps:
            if step.spends and step.amount is not None and step.currency is not None:
                sums[step.currency] = sums.get(step.currency, 0) + step.amount
        return {currency: format_amount(minor, currency) for currency, minor in sorted(sums.items())}

    @property
    def unknown(self) -> tuple[int, ...]:
        """Numbers of the steps that spend an amount that is not known yet."""
        return tuple(step.number for step in self.steps if step.spends and step.amount is None)

    def as_dict(self) -> dict[str, Any]:
        """As the command line prints it."""
        return {
            "flow": self.flow,
            "site": self.site,
            "cost": self.most,
            "cost_unknown": list(self.unknown),
            "steps": [
                {
                    "step": step.number,
                    "action": step.action.name,
                    "effect": step.action.effect,
                    "scope": step.action.scope,
                }
                for step in self.steps
            ],
        }


def plan(
    flow: str,
    site: str,
    steps: Sequence[FlowStep],
    actions: Mapping[str, ManifestAction],
    *,
    value: Json,
    outputs: Sequence[Json],
) -> FlowPlan:
    """The plan of the steps that come after ``outputs``."""
    planned = [
        _planned(number, actions[steps[number].action], steps[number].given, value, outputs)
        for number in range(len(outputs), len(steps))
    ]
    return FlowPlan(flow, site, tuple(planned))


def _planned(
    number: int, action: ManifestAction, given: Json, value: Json, outputs: Sequence[Json]
) -> PlannedStep:
    cost = action.cost
    if action.effect != "spend" or cost is None:
        return PlannedStep(number, action)
    try:
        amount = cost.amount if cost.field is None else cost_of(cost, _known_part(given, value, outputs))
    except AgentError:
        amount = None
    return PlannedStep(number, action, cost.currency, amount)


def _known_part(given: Json, value: Json, outputs: Sequence[Json]) -> Json:
    """What can be told of a step's input by now: members that wait for an output to come are left out."""
    if not isinstance(given, dict):
        return resolve(given, value, outputs)
    return {
        name: resolve(member, value, outputs)
        for name, member in given.items()
        if all(
            reference.step is None or reference.step < len(outputs) for _, reference in references_in(member)
        )
    }
