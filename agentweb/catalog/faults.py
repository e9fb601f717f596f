"""What can be wrong in a declaration, each kind under a stable id.

A faulty declaration never raises where it is written: the fault is recorded, the action or flow is not
published, and the system checks report it. Dangerous faults (``DANGEROUS``) also keep the site from starting,
because what would run differs from what its author meant. The ids stand in ``docs/reference/checks.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class FaultId(StrEnum):
    """Ids of ``agentweb.E…`` (error: not published) and ``agentweb.W…`` (warning: published all the same)."""

    DUPLICATE_ACTION = "agentweb.E010"
    DUPLICATE_ROUTE = "agentweb.E011"
    ACTION_NAME = "agentweb.E012"
    SCOPE = "agentweb.E013"
    EFFECT = "agentweb.E014"
    SCHEMA = "agentweb.E015"
    INPUT_TYPE = "agentweb.E016"
    METHOD = "agentweb.E017"
    PATH = "agentweb.E018"
    PATH_PARAMETER = "agentweb.E019"
    COST = "agentweb.E020"
    HANDLER = "agentweb.E021"
    EXAMPLE = "agentweb.E022"
    QUERY_INPUT = "agentweb.E023"
    RATE = "agentweb.E024"
    DESCRIPTION = "agentweb.E026"
    VISIBLE = "agentweb.E027"
    CONTRADICTION = "agentweb.E028"
    WORDING = "agentweb.E029"
    SEVERAL_INPUTS = "agentweb.E025"
    CONFIRM = "agentweb.E037"
    SERIALIZER = "agentweb.E038"
    FORM = "agentweb.E039"
    VIEW = "agentweb.E050"
    VIEW_INPUT = "agentweb.E051"
    DUPLICATE_PAGE = "agentweb.E060"
    PAGE_PATH = "agentweb.E061"
    PAGE_ACTION = "agentweb.E062"
    PAGE_STATE = "agentweb.E063"
    PAGE_PERMISSION = "agentweb.E064"
    BROWSER_ACTION = "agentweb.E065"
    DUPLICATE_FLOW = "agentweb.E030"
    FLOW_NAME = "agentweb.E031"
    FLOW_STEPS = "agentweb.E032"
    FLOW_ACTION = "agentweb.E033"
    FLOW_REFERENCE = "agentweb.E034"
    FLOW_INPUT = "agentweb.E035"
    FLOW_SCHEMA = "agentweb.E036"
    NO_SCOPE = "agentweb.W010"
    NO_COST = "agentweb.W011"
    READ_BY_POST = "agentweb.W012"
    NO_INPUT = "agentweb.W013"
    VIEW_EFFECT = "agentweb.W054"
    VIEW_SCOPE = "agentweb.W055"
    VIEW_QUERY = "agentweb.W056"
    READERS = "agentweb.W015"


DANGEROUS: Final = frozenset(
    {
        FaultId.DUPLICATE_ACTION,
        FaultId.DUPLICATE_ROUTE,
        FaultId.ACTION_NAME,
        FaultId.SCOPE,
        FaultId.EFFECT,
        FaultId.SCHEMA,
        FaultId.INPUT_TYPE,
        FaultId.METHOD,
        FaultId.PATH,
        FaultId.PATH_PARAMETER,
        FaultId.COST,
        FaultId.HANDLER,
        FaultId.SEVERAL_INPUTS,
        FaultId.CONFIRM,
        FaultId.SERIALIZER,
        FaultId.VIEW,
        FaultId.FORM,
        FaultId.DUPLICATE_FLOW,
        FaultId.DUPLICATE_PAGE,
    }
)
"""Faults with which ``AgentwebConfig.ready()`` refuses to start."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake: ``obj`` names where it is (``shop.agents.checkout``), ``hint`` says what would be right."""

    id: str
    message: str
    hint: str
    obj: str
    dangerous: bool

    @property
    def is_error(self) -> bool:
        """Whether the declaration is left unpublished; a warning only speaks."""
        return self.id.startswith("agentweb.E")


def fault(kind: FaultId, message: str, hint: str, obj: str) -> Fault:
    """A Fault of this kind; the kind says whether it is dangerous."""
    return Fault(str(kind), message, hint, obj, kind in DANGEROUS)
