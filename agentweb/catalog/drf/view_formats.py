"""A view's own query parameter named like DRF's ``?format=``, which would choose a renderer instead.

An agent always gets JSON, so there the name means what the view means by it.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, SimpleNamespace
from typing import Any, Final

from rest_framework.settings import api_settings

_NO_OVERRIDE: Final = SimpleNamespace(URL_FORMAT_OVERRIDE=None)


def is_format(name: str) -> bool:
    """Whether DRF would take a query parameter of this name for itself."""
    return bool(name == api_settings.URL_FORMAT_OVERRIDE)


def without_override(view: Callable[..., Any]) -> Callable[..., Any]:
    """The same view of DRF, made to leave ``?format=`` alone. One with a decorator around it stays as it is."""
    cls: Any = getattr(view, "cls", None)
    actions = getattr(view, "actions", None)
    if cls is None or not hasattr(getattr(cls, "content_negotiation_class", None), "settings"):
        return view
    initkwargs: dict[str, Any] = dict(getattr(view, "initkwargs", {}))
    base = initkwargs.get("content_negotiation_class", cls.content_negotiation_class)
    initkwargs["content_negotiation_class"] = type(base.__name__, (base,), {"settings": _NO_OVERRIDE})
    made: Callable[..., Any] = cls.as_view(*([dict(actions)] if actions else []), **initkwargs)
    return made if _layers(made) == _layers(view) else view


def _layers(view: Any) -> list[CodeType]:
    """The code of a callable and of what it wraps: a decorator more makes the list longer."""
    found = []
    while view is not None:
        code = getattr(view, "__code__", None)
        if code is not None:
            found.append(code)
        view = getattr(view, "__wrapped__", None)
    return found
