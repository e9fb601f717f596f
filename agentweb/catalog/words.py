"""The site author's word ``action``: it declares one action, or many from what the site has already.

::

    @action("add_to_cart", effect="write", scope="cart:write")
    def add_to_cart(inp: CartLine, ctx):
        \"\"\"Put a product into the cart.\"\"\"

A declaration that is wrong never raises where it is written: its faults go to ``registry.faults()``, and an
action with an error is not published.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import EllipsisType, MappingProxyType
from typing import Any, TypeVar, overload

from agentweb.catalog.actions import declare
from agentweb.catalog.declaring import first_paragraph, place_of
from agentweb.catalog.faults import FaultId, fault
from agentweb.catalog.forms import SAVE_HINT, description_of, output_of, submit_handler
from agentweb.catalog.reading import Written
from agentweb.catalog.registry import registry
from agentweb.catalog.schema_sources import SourceError
from agentweb.wire.strict_json import Json

__all__ = ["action"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


class ActionWord:
    """The type of ``action``, which is called as a decorator."""

    @overload
    def __call__(self, name: _Function, /) -> _Function: ...

    @overload
    def __call__(
        self,
        name: str | None = None,
        *,
        title: str | None = None,
        description: str | None = None,
        effect: str = "read",
        scope: str | None = None,
        input: Any = None,
        serializer: Any = None,
        form: Any = None,
        output: Any = None,
        example: Json | EllipsisType = ...,
        method: str | None = None,
        path: str | None = None,
        cost: dict[str, Any] | None = None,
        consequential: bool | None = None,
        idempotent: bool | None = None,
        confirm: str | None = None,
        pages: Iterable[str] = (),
        tags: Iterable[str] = (),
        visible: Callable[[Any], bool] | None = None,
        rate: tuple[float, int] | None = None,
    ) -> Callable[[_Function], _Function]: ...

    def __call__(
        self,
        name: Any = None,
        *,
        title: str | None = None,
        description: str | None = None,
        effect: str = "read",
        scope: str | None = None,
        input: Any = None,
        serializer: Any = None,
        form: Any = None,
        output: Any = None,
        example: Json | EllipsisType = ...,
        method: str | None = None,
        path: str | None = None,
        cost: Any = None,
        consequential: bool | None = None,
        idempotent: bool | None = None,
        confirm: str | None = None,
        pages: Iterable[str] = (),
        tags: Iterable[str] = (),
        visible: Callable[[Any], bool] | None = None,
        rate: tuple[float, int] | None = None,
    ) -> Any:
        """Let agents call the decorated function ``handler(inp, ctx)``. The function itself is left as it is.

        - ``name``: the function's name by default; ``[a-z][a-z0-9_]*``, at most 100 characters.
        - ``title``, ``description``: by default the name in words, and the first paragraph of the docstring.
        - ``effect``: ``read``, ``write``, ``send``, ``spend`` or ``delete``.
        - ``scope``: what a grant must give, ``cart:write``.
        - ``input``: a JSON Schema as a dict, or a type; by default the type hint of ``inp``; the hint None
          means that there is no input. Or, instead of it, ``serializer``: a DRF serializer class, whose
          ``validated_data`` is ``inp``; or ``form``: a Django form class, whose ``cleaned_data`` is ``inp``.
        - ``output``: a JSON Schema, a type or a serializer; by default the returned dataclass or TypedDict,
          else not said.
        - ``example``: an input that works; made from the schema when it can be.
        - ``method``, ``path``: by default GET for a read with flat input, else POST, at ``/agent/<name>``.
          ``{name}`` in a path takes the required input of that name.
        - ``cost``: for spend, ``{"field": "price", "currency": "USD"}`` or ``{"amount": 25, "currency": "USD"}``.
        - ``consequential``: True raises a read or write to what a person should know about.
        - ``idempotent``: True for a write that may be repeated.
        - ``confirm``: ``"person"`` lets a call wait until a person has approved exactly it; never for a read.
        - ``pages``, ``tags``: pages on which the action is offered, words to find it by.
        - ``visible(user)``: False hides it: unlisted, uncallable, unmentioned.
        - ``rate``: (calls a second, burst) of one caller.

        Faults in what is given are recorded (``manage.py check`` shows them), not raised. Raises TypeError when
        it decorates what is not a function.
        """
        written = Written(
            name=None if callable(name) else name,
            title=title,
            description=description,
            effect=effect,
            scope=scope,
            input=input,
            serializer=serializer,
            form=form,
            output=output,
            example=example,
            method=method,
            path=path,
            cost=cost,
            consequential=consequential,
            idempotent=idempotent,
            confirm=confirm,
            pages=pages,
            tags=tags,
            visible=visible,
            rate=rate,
        )

        def decorate(handler: Any) -> Any:
            if not callable(handler):
                raise TypeError(f"@action decorates a function, not {handler!r}.")
            declare(handler, written)
            return handler

        return decorate(name) if callable(name) else decorate

    def from_form(
        self,
        form: Any,
        *,
        name: str,
        effect: str = "write",
        scope: str | None = None,
        handler: Callable[..., Any] | None = None,
        **words: Any,
    ) -> None:
        """Let agents fill in and submit a Django form.

        Without ``handler(inp, ctx)``, a valid form is saved by its own ``save()``, else sent by its ``send()``; the
        answer is ``{"saved": true, "id": …}``, ``{"sent": true}``, or the dict that the method returns. A ``request``
        or ``user`` parameter of the form's ``__init__``, ``save`` or ``send`` is given. ``description`` is the first
        paragraph of the handler's docstring, else of the form's own. ``words`` are the other arguments of ``action``.

        Faults are recorded, not raised.
        """
        if handler is None:
            try:
                handler = submit_handler(form)
            except SourceError as error:
                registry.record(
                    fault(FaultId.FORM, f"{name!r} cannot be submitted: {error}.", SAVE_HINT, place_of(form))
                )
                return
            words.setdefault("output", output_of(form))
        elif not first_paragraph(handler):
            words.setdefault("description", description_of(form))
        self(name, effect=effect, scope=scope, form=form, **words)(handler)

    def from_view(
        self,
        view: Any,
        *,
        prefix: str | None = None,
        name: str | None = None,
        only: Iterable[str] = (),
        exclude: Iterable[str] = (),
        actions: Mapping[str, str] | None = None,
        methods: Iterable[str] = (),
        url_kwargs: Mapping[str, dict[str, Any]] = MappingProxyType({}),
        initkwargs: Mapping[str, Any] = MappingProxyType({}),
        effect: str | None = None,
        scope: str | None = None,
        input: Any = ...,
        output: Any = None,
        title: str | None = None,
        description: str | None = None,
        example: Json | EllipsisType = ...,
        cost: dict[str, Any] | None = None,
        consequential: bool | None = None,
        idempotent: bool | None = None,
        confirm: str | None = None,
        pages: Iterable[str] = (),
        tags: Iterable[str] = (),
        visible: Callable[[Any], bool] | None = None,
        rate: tuple[float, int] | None = None,
        names: Mapping[str, str] = MappingProxyType({}),
        effects: Mapping[str, str] = MappingProxyType({}),
        scopes: Mapping[str, str] = MappingProxyType({}),
        inputs: Mapping[str, Any] = MappingProxyType({}),
        outputs: Mapping[str, Any] = MappingProxyType({}),
        titles: Mapping[str, str] = MappingProxyType({}),
        descriptions: Mapping[str, str] = MappingProxyType({}),
        examples: Mapping[str, Json] = MappingProxyType({}),
        costs: Mapping[str, dict[str, Any]] = MappingProxyType({}),
        confirms: Mapping[str, str] = MappingProxyType({}),
        rates: Mapping[str, tuple[float, int]] = MappingProxyType({}),
    ) -> None:
        """Let agents call a view that the site has. Its URLs go on answering as before.

        ``view`` is a ViewSet or another class of Django REST framework, an ``@api_view`` function, what ``as_view()``
        made, or a view of Django that answers with JSON (then ``input`` is needed).

        Everything that the view answers is published, each as ``<prefix>_<action>``: narrow it with ``only`` or
        ``exclude``. GET is a read, DELETE a delete, the rest a write; ``effects`` says where something is sent or
        paid. The view's permissions, throttles, filters, pagination and validation run as they do over HTTP, for
        the person for whom the agent acts.

        - ``actions``: as for ``as_view`` of a ViewSet, ``methods``: what a plain function answers.
        - ``url_kwargs``: schemas of keyword arguments of the URL that the view does not name itself.
        - ``initkwargs``: as for ``as_view()``, for a view that the URLconf does not route.
        - ``effects``, ``scopes``, ``inputs`` … give a word for one action of the view, by its name there
          (``{"destroy": "orders:delete"}``); ``effect``, ``scope``, ``input`` … for all of them.

        Faults are recorded, not raised.
        """
        # Django REST framework is not imported by a site that publishes no view of it.
        from agentweb.catalog.drf.view_words import ViewWords  # noqa: PLC0415
        from agentweb.catalog.drf.views import publish  # noqa: PLC0415

        for_all = {
            "name": name,
            "effect": effect,
            "scope": scope,
            "input": input,
            "output": output,
            "title": title,
            "description": description,
            "example": example,
            "cost": cost,
            "consequential": consequential,
            "idempotent": idempotent,
            "confirm": confirm,
            "pages": pages,
            "tags": tags,
            "visible": visible,
            "rate": rate,
        }
        by_key = {
            "names": names,
            "effects": effects,
            "scopes": scopes,
            "inputs": inputs,
            "outputs": outputs,
            "titles": titles,
            "descriptions": descriptions,
            "examples": examples,
            "costs": costs,
            "confirms": confirms,
            "rates": rates,
        }
        publish(
            view,
            ViewWords(
                prefix=prefix,
                only=only,
                exclude=exclude,
                actions=actions,
                methods=methods,
                url_kwargs=url_kwargs,
                initkwargs=initkwargs,
                for_all=for_all,
                by_key=by_key,
            ),
        )


action = ActionWord()
