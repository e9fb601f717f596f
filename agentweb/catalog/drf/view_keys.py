"""By what a view finds its one object: the keyword argument of the URL, and the type of the model's column."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import FieldDoesNotExist
from django.db import models

from agentweb.catalog.drf.view_endpoints import Endpoint


def lookup_of(endpoint: Endpoint) -> str | None:
    """The keyword argument by which the view looks up its object; None for a view that has no such words."""
    cls: Any = endpoint.cls
    name = getattr(cls, "lookup_url_kwarg", None) or getattr(cls, "lookup_field", None)
    return None if name is None else str(name)


def model_of(endpoint: Endpoint, view: Any = None) -> type[models.Model] | None:
    """The model of the view's ``queryset``, else that of its serializer. ``view`` is an instance without a request."""
    cls: Any = endpoint.cls
    found = getattr(getattr(cls, "queryset", None), "model", None)
    if found is not None:
        return found  # type: ignore[no-any-return]
    serializer = endpoint.initkwargs.get("serializer_class") or getattr(cls, "serializer_class", None)
    if serializer is None and hasattr(view, "get_serializer_class"):
        try:
            serializer = view.get_serializer_class()
        except Exception:  # the site's code, which may expect a request
            return None
    return getattr(getattr(serializer, "Meta", None), "model", None)


def key_schema(endpoint: Endpoint, view: Any = None) -> dict[str, Any] | None:
    """The one type of what the view looks up by; None where no model tells it."""
    model = model_of(endpoint, view)
    if model is None:
        return None
    meta: Any = model._meta
    name = getattr(endpoint.cls, "lookup_field", "pk")
    try:
        found: Any = meta.pk if name == "pk" else meta.get_field(name)
    except FieldDoesNotExist:
        return None  # a way over several tables
    while getattr(found, "remote_field", None) is not None:
        found = found.target_field
    described = {"description": f"By {found.name}: {meta.verbose_name}."}
    match found:
        case models.IntegerField():
            return {"type": "integer", **described}
        case models.UUIDField():
            return {"type": "string", "format": "uuid", **described}
    return {"type": "string", **described}
