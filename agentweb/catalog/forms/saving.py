"""What a form action does when no handler is written: it saves, or sends, by the form's own method."""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import Any, Final

from asgiref.sync import async_to_sync
from django.db import IntegrityError, models, transaction
from django.forms.models import BaseModelForm

from agentweb.catalog.forms.calling import given, unknown, wanted
from agentweb.catalog.forms.choices import key_type
from agentweb.catalog.forms.sources import check, description_of
from agentweb.catalog.schema_sources import SourceError

_METHODS: Final = {"save": "saved", "send": "sent"}
"""The method of the form that is called, the first that there is -> the member of the answer that says so."""

SAVE_HINT: Final = (
    "Give the form a method save(self), or say what to do: handler=a function of (inp, ctx), where ctx.form is the "
    "valid form."
)


class Submit:
    """The handler of a form: calls its ``save()``, else its ``send()``, and answers ``{"saved": true, "id": …}``.

    ``id`` is the key of the saved row; a dict that the method returns is the answer as it is.
    """

    def __init__(self, form: type, method: str) -> None:
        self.method = method
        self.wanted = wanted(getattr(form, method))
        # For messages and logs, which name the place of a handler; and for the description.
        self.__name__ = self.__qualname__ = form.__qualname__
        self.__module__ = form.__module__
        self.__doc__ = description_of(form)

    def submit(self, form: Any, ctx: Any) -> Any:
        method = getattr(form, self.method)
        if iscoroutinefunction(method):
            method = async_to_sync(method)
        return method(**given(self.wanted, ctx))

    def __call__(self, inp: Any, ctx: Any) -> dict[str, Any]:
        try:
            with transaction.atomic():
                result = self.submit(ctx.form, ctx)
        except IntegrityError:
            # Somebody else saved the same between the check of the form and its save: now the form knows.
            ctx.form.full_clean()
            check(ctx.form)
            raise
        if isinstance(result, dict):
            return result
        answer: dict[str, Any] = {_METHODS[self.method]: True}
        if isinstance(result, models.Model):
            answer["id"] = result.pk if isinstance(result.pk, int) else str(result.pk)
        return answer


def submit_handler(form: Any) -> Submit:
    """The handler that a form brings. Raises SourceError when it has neither ``save`` nor ``send``, or none to call."""
    name = getattr(form, "__qualname__", repr(form))
    for method in _METHODS:
        function = getattr(form, method, None)
        if not callable(function):
            continue
        if missing := unknown(function):
            raise SourceError(f"{name}.{method}() wants {', '.join(missing)}, which a call does not have")
        return Submit(form, method)
    raise SourceError(f"{name} has no save() and no send(), and no handler is given")


def output_of(form: Any) -> dict[str, Any] | None:
    """The schema of the answer that a model form's own ``save`` gives; None when nothing is known of it."""
    if not (isinstance(form, type) and issubclass(form, BaseModelForm)):
        return None
    if form.save is not BaseModelForm.save or form._meta.model is None:
        return None
    return {
        "type": "object",
        "properties": {"saved": {"const": True}, "id": key_type(form._meta.model._meta.pk)},
        "required": ["saved", "id"],
        "additionalProperties": False,
    }
