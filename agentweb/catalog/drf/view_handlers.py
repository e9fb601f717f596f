"""The handler of a published view: it calls the view as the site's own URL would, and reads what it answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from typing import Any
from uuid import UUID

from asgiref.sync import async_to_sync, iscoroutinefunction
from django.conf import settings
from django.contrib.auth.middleware import LoginRequiredMiddleware
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import BadRequest, RequestDataTooBig, SuspiciousOperation, ValidationError
from django.db import DatabaseError, InternalError, connections, transaction
from django.db.transaction import TransactionManagementError
from django.utils.module_loading import import_string

from agentweb.catalog.actions import Effect
from agentweb.catalog.drf.view_answers import AnswerError, value_of
from agentweb.catalog.drf.view_authenticators import knows_people
from agentweb.catalog.drf.view_data_errors import overhearing
from agentweb.catalog.drf.view_data_errors import refusal_of as data_refusal
from agentweb.catalog.drf.view_endpoints import Endpoint
from agentweb.catalog.drf.view_formats import is_format, without_override
from agentweb.catalog.drf.view_inputs import ViewInput, query_string, texts_by_member
from agentweb.catalog.drf.view_requests import fresh_request, person_of
from agentweb.catalog.drf.view_routes import NoSuchAddress, NoSuchURL, Place, place_of
from agentweb.catalog.schema_secrets import without_secrets
from agentweb.wire.errors import AuthorizationError, Code, InputError, RequestError
from agentweb.wire.schema.problems import make_problem
from agentweb.wire.strict_json import Json


class ViewHandler:
    """``handler(inp, ctx)`` of one endpoint. The view is neither wrapped nor changed; its URLs answer as before."""

    def __init__(self, endpoint: Endpoint, taken: ViewInput, named: Collection[str] = ()) -> None:
        """``named`` are keyword arguments of the URL that the author named."""
        self.endpoint = endpoint
        self.taken = taken
        self.named = frozenset(named)
        self.__name__ = endpoint.key
        self.__module__, self.__qualname__ = _named(endpoint)
        self.__doc__ = None

    def __call__(self, inp: Any, ctx: Any) -> Json:
        """The view's own JSON. Raises its refusals as AgentErrors; what else it raises is a crash."""
        sent = self.taken.sent(inp)
        place = self._place(sent.kwargs, ctx)
        user = person_of(ctx) if knows_people(self.endpoint, place.callback) else AnonymousUser()
        request = fresh_request(
            ctx,
            user,
            method=self.endpoint.method.upper(),
            path=place.path,
            query=query_string(sent.query),
            body=sent.body,
            has_body=self.taken.has_body,
            match=place.match,
        )
        is_person = user.is_authenticated
        if not is_person and _needs_login(place.callback):
            raise AuthorizationError(
                Code.NOT_ALLOWED,
                "The site answers here to people who are logged in, and the call stands for none; sign it under a "
                "grant that a person gave, also where the action demands none.",
            )
        heard: list[DatabaseError] = []
        try:
            with overhearing() as heard, _savepoints(ctx):
                response = _called(self._view(place.callback))(request, **place.kwargs)
                return value_of(response, self.taken, is_person=is_person, path=request.path)
        except InputError as error:
            raise without_secrets(error, inp, self.taken.schema or {}) from None
        except RequestDataTooBig:
            raise RequestError(Code.PAYLOAD_TOO_LARGE, "The site takes no input of this size.") from None
        except (BadRequest, SuspiciousOperation):
            # Django answers these with 400 and no words.
            problem = make_problem((), "invalid", "The site refused the input.")
            raise InputError([problem]) from None
        except Exception as error:
            # What the view made of a refusal of the database: a 5xx of its own, or a query that could not run any more.
            is_follow_up = isinstance(error, (AnswerError, InternalError, TransactionManagementError))
            cause = heard[-1] if heard and is_follow_up else error
            refused = data_refusal(cause, texts_by_member(inp), f"{ctx.action.name} ({ctx.request_id})")
            if refused is not None:
                raise refused from error
            if isinstance(error, ValidationError):
                # Over HTTP this is a crash of the view, which ran the model's validation outside of a serializer.
                raise AnswerError("The view let a ValidationError of Django pass.") from error
            raise

    def _view(self, callback: Callable[..., Any]) -> Callable[..., Any]:
        if any(is_format(name) for name in self.taken.query.values()):
            return without_override(callback)
        return callback

    def _place(self, kwargs: dict[str, Any], ctx: Any) -> Place:
        try:
            place = place_of(self.endpoint, kwargs)
        except NoSuchAddress:
            raise RequestError(
                Code.NOT_FOUND, "What the input names does not exist here. Look it up, then call again."
            ) from None
        except NoSuchURL as error:
            raise self._refused(error.missing, error.unknown) from None
        if place is not None:
            return place
        # A parameter with a default is of the view's own code, unless a URL or its author says otherwise.
        own = {name for name, parameter in self.endpoint.parameters.items() if not parameter.is_required}
        unknown = frozenset(own & kwargs.keys() - self.named)
        if unknown:
            raise self._refused(frozenset(), unknown)
        return Place(_view_of(self.endpoint), ctx.action.path, _typed(self.endpoint, kwargs), None)

    def _refused(self, missing: frozenset[str], unknown: frozenset[str]) -> Exception:
        """Why no URL of the view takes what was sent: the caller's mistake where the caller can mend it."""
        problems = [
            make_problem((member,), "required", f"'{member}' is required.")
            if name in missing
            else make_problem(
                (member,), "unknown_field", f"'{member}' is taken by no address here; leave it out."
            )
            for member, name in self.taken.path.items()
            if name in missing or name in unknown
        ]
        if not problems or not missing <= set(self.taken.path.values()):
            return AnswerError(
                f"The URL of the view needs {', '.join(sorted(missing))}, which no input holds."
            )
        return InputError(problems)


@lru_cache(maxsize=1_024)
def _view_of(endpoint: Endpoint) -> Callable[..., Any]:
    """The callable of a view that the URLconf does not route, made as a router would make it."""
    if endpoint.given is not None:
        return endpoint.given
    cls: Any = endpoint.cls
    if endpoint.actions is None:
        return cls.as_view(**endpoint.initkwargs)  # type: ignore[no-any-return]
    return cls.as_view(dict(endpoint.actions), **endpoint.initkwargs)  # type: ignore[no-any-return]


def _typed(endpoint: Endpoint, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword arguments as a URL would give them: texts, unless a converter says otherwise."""
    found: dict[str, Any] = {}
    for name, value in kwargs.items():
        looks = endpoint.parameters[name].looks if name in endpoint.parameters else ""
        found[name] = int(value) if looks == "int" else UUID(value) if looks == "uuid" else str(value)
    return found


def _called(view: Callable[..., Any]) -> Callable[..., Any]:
    """The view, in the transaction that ATOMIC_REQUESTS asks for; an async one for synchronous callers."""
    if iscoroutinefunction(view):
        return async_to_sync(view)
    left_out: set[str] = getattr(view, "_non_atomic_requests", set())
    for alias, options in connections.settings.items():
        if options["ATOMIC_REQUESTS"] and alias not in left_out:
            view = _within(view, alias)
    return view


def _within(view: Callable[..., Any], alias: str) -> Callable[..., Any]:
    """In a transaction of this database. One that is to be rolled back although the view says that all went well
    is a crash: its end would take the writes back and keep the answer, and the approval would be used up for it."""

    def called(request: Any, **kwargs: Any) -> Any:
        with transaction.atomic(using=alias):
            response = view(request, **kwargs)
            if transaction.get_rollback(using=alias) and getattr(response, "status_code", 500) < 400:
                raise AnswerError(
                    "The view swallowed a database error and answered as if all went well. Put the statement that may "
                    "fail into its own transaction.atomic()."
                )
            return response

    return called


@contextmanager
def _savepoints(ctx: Any) -> Iterator[None]:
    """For a read inside somebody's transaction: a statement that the database refuses must not spoil what follows.

    An action that writes has the savepoint of the door, and a read that is asked over HTTP no transaction at all.
    """
    with ExitStack() as stack:
        if ctx.action.effect is Effect.READ:
            for connection in connections.all(initialized_only=True):
                if connection.in_atomic_block:
                    stack.enter_context(transaction.atomic(using=connection.alias))
        yield


def _needs_login(view: Callable[..., Any]) -> bool:
    """Whether Django's LoginRequiredMiddleware would send an anonymous visitor of this view away."""
    if not getattr(view, "login_required", True):
        return False
    classes = [import_string(name) for name in settings.MIDDLEWARE]
    return any(isinstance(each, type) and issubclass(each, LoginRequiredMiddleware) for each in classes)


def _named(endpoint: Endpoint) -> tuple[str, str]:
    """(module, dotted name) of what answers, for messages: ``shop.api``, ``OrderViewSet.cancel``."""
    if endpoint.cls is None:
        view: Any = endpoint.given
        return getattr(view, "__module__", "?"), getattr(view, "__qualname__", type(view).__qualname__)
    return endpoint.cls.__module__, f"{endpoint.cls.__qualname__}.{endpoint.handler}"
