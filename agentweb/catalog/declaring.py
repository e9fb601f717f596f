"""Collecting what is wrong with one declaration, and the words that actions and flows share."""

from __future__ import annotations

import inspect
import re
from typing import Any, Final, TypeGuard

from django.conf import settings
from django.utils import translation
from django.utils.functional import Promise

from agentweb.catalog.faults import Fault, FaultId, fault

MAX_DESCRIPTION: Final = 1_024
MAX_TITLE: Final = 100

_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,99}")


class Findings:
    """The faults of one declaration; ``where`` names it in messages (``shop.agents.checkout``)."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.faults: list[Fault] = []

    def note(self, kind: FaultId, message: str, hint: str) -> None:
        self.faults.append(fault(kind, message, hint, self.where))

    @property
    def has_errors(self) -> bool:
        return any(found.is_error for found in self.faults)


def place_of(handler: Any) -> str:
    """Where a function is: ``shop.agents.checkout``."""
    name = getattr(handler, "__qualname__", None) or type(handler).__qualname__
    return f"{getattr(handler, '__module__', None) or '?'}.{name}"


def is_name(text: object) -> TypeGuard[str]:
    """Whether this may name an action or a flow: ``add_to_cart``."""
    return isinstance(text, str) and _NAME.fullmatch(text) is not None


def first_paragraph(documented: Any) -> str:
    """The first paragraph of a docstring as one line; empty when there is none."""
    text = inspect.getdoc(documented) or ""
    return " ".join(text.strip().split("\n\n", 1)[0].split())


def humanised(name: str) -> str:
    """``add_to_cart`` as people write it: ``Add to cart``."""
    words = name.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def text_of(value: object) -> str | None:
    """A text, or a lazy translation in the site's language (published documents have one); else None."""
    if isinstance(value, Promise):
        # Whatever language is active where the declaration is read.
        with translation.override(settings.LANGUAGE_CODE):
            return str(value)
    return str(value) if isinstance(value, str) else None


def check_description(description: object, findings: Findings) -> str:
    """The description without blanks around it; notes a fault when it is no text, empty or too long."""
    text = (text_of(description) or "").strip()
    if not text:
        findings.note(
            FaultId.DESCRIPTION,
            "It has no description.",
            "Give description= or write a docstring: agents choose by it.",
        )
    elif len(text) > MAX_DESCRIPTION:
        findings.note(
            FaultId.DESCRIPTION,
            f"Its description has {len(text)} characters; at most {MAX_DESCRIPTION} are published.",
            "Say in a sentence or two what it does and when to use it.",
        )
    return text
