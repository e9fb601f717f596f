"""What agents read about a published view, where its author wrote nothing for them."""

from __future__ import annotations

import re
from typing import Any, Final

from agentweb.catalog.declaring import first_paragraph, humanised
from agentweb.catalog.drf.view_endpoints import Endpoint

_DOES: Final = {
    "list": "List {many}.",
    "retrieve": "Get one {one}.",
    "create": "Create a new {one}.",
    "update": "Replace the values of one {one}.",
    "partial_update": "Change some values of one {one}.",
    "destroy": "Delete one {one}.",
}
_SUFFIX: Final = re.compile(r"(?:Model)?(?:ViewSet|APIView|Api|API|View)$")
_WORD: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_FOREIGN: Final = ("rest_framework.", "django.", "django_filters.")


def default_prefix(view: Any) -> str:
    """``orders`` of a function, ``order`` of OrderViewSet."""
    cls = view if isinstance(view, type) else getattr(view, "cls", None) or getattr(view, "view_class", None)
    name = getattr(view, "__name__", "") if cls is None else cls.__name__
    return _WORD.sub("_", _SUFFIX.sub("", name) or name).lower()


def description_of(endpoint: Endpoint, name: str) -> str:
    """The docstring of the method; else what the method does by its name, and the docstring of the view."""
    own = _documented(endpoint.function)
    if own:
        return own
    about = _about(endpoint.cls)
    does = _DOES.get(endpoint.key)
    if does is None:
        if about and endpoint.is_alone:
            return about
        one, many = _called(endpoint.cls, name, endpoint.key)
        what = one if _is_of_one(endpoint) else many
        does = (
            f"{humanised(endpoint.key)}: {'one ' if what is one else ''}{what}."
            if what
            else f"{humanised(endpoint.key)}."
        )
        return f"{does} {about}".strip()
    one, many = _called(endpoint.cls, name, endpoint.key)
    return f"{does.format(one=one, many=many)} {about}".strip()


def _is_of_one(endpoint: Endpoint) -> bool:
    return bool(endpoint.initkwargs.get("detail"))


def _documented(found: Any) -> str:
    """The first paragraph of a docstring that the site wrote, not one of its frameworks."""
    if found is None or str(getattr(found, "__module__", "")).startswith(_FOREIGN):
        return ""
    return first_paragraph(found) if getattr(found, "__doc__", None) else ""


def _about(cls: type | None) -> str:
    for each in cls.__mro__ if cls is not None else ():
        if "__doc__" in vars(each) and each.__doc__:
            return _documented(each)
    return ""


def _called(cls: Any, name: str, key: str) -> tuple[str, str]:
    """What one and what many of the view's objects are called."""
    queryset = getattr(cls, "queryset", None)
    serializer = getattr(cls, "serializer_class", None)
    model = getattr(queryset, "model", None) or getattr(getattr(serializer, "Meta", None), "model", None)
    if model is not None:
        return str(model._meta.verbose_name), str(model._meta.verbose_name_plural)
    words = name.removesuffix(f"_{key}").replace("_", " ")
    return words, words
