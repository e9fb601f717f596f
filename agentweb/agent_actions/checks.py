"""System checks of agent-actions: does everything that the manifest lists really answer, and we alone there?

========== =============================================================================================
E040       another view of the site answers at an action's path, or is kept from answering by it
E041       an input that travels in the query string is named like a secret, so every call is refused
E042       NEGOTIATOR names no function of two arguments: every offer would fail
W040       ``agentweb.urls`` is not in the URLconf, or another view takes its requests: nothing answers
W041       the manifest does not answer at the root of the host
W042       django-cors-headers covers our paths and would answer their preflights by the site's own policy
W043       a hidden action has a path of its own, where it can be told from a path that does not exist
W044       the site bargains, and no action spends: nobody can buy at the price that was agreed on
========== =============================================================================================
"""

from __future__ import annotations

from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning

from agentweb import conf
from agentweb.agent_actions.mount import MANIFEST, RECEIPTS
from agentweb.catalog.actions import Action
from agentweb.catalog.effects import Effect
from agentweb.catalog.registry import registry
from agentweb.http import cors
from agentweb.http.mount import mount_prefix
from agentweb.http.queries import SECRET_NAMES
from agentweb.http.site_urls import NO_SUCH_PATH
from agentweb.http.urlconf import is_ours, name_of, views_at
from agentweb.negotiation import negotiator

_SAMPLES: Final = ("0", "x", "00000000-0000-4000-8000-000000000000")
"""Values for the parameters of a path: what Django's own converters take."""
_INCLUDE: Final = 'Add path("", include("agentweb.urls")) to your root URLconf.'


def check_action_paths(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """E040 and W040."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return []
    prefix = mount_prefix()
    views = list(views_at(f"{prefix}/{RECEIPTS}"))
    if not views or not is_ours(views[0]):
        return [_unreachable(views)]
    catch_alls = {*views_at(NO_SUCH_PATH), *views_at(prefix + NO_SUCH_PATH)}
    found: list[CheckMessage] = []
    for action in registry.actions():
        other = _other_view(action, prefix, catch_alls)
        if other is not None:
            found.append(
                Error(
                    f"{other} answers at {prefix}{action.path} too, the path of the action {action.name!r}.",
                    hint="Give the action another path; one address has one owner.",
                    obj=action.where,
                    id="agentweb.E040",
                )
            )
    return found


def _unreachable(views: list[Any]) -> CheckMessage:
    """W040, by what answers in our place."""
    if any(is_ours(view) for view in views):
        return Warning(
            f"{name_of(views[0])} stands before agentweb.urls in the URLconf and takes all of its requests: nothing "
            "answers to agents.",
            hint='Write path("", include("agentweb.urls")) above the pattern that catches all.',
            id="agentweb.W040",
        )
    return Warning(
        "agentweb.urls is not included: nothing answers to agents.", hint=_INCLUDE, id="agentweb.W040"
    )


def check_well_known(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W041. W040 speaks where nothing is included at all."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return []
    is_included = is_ours(next(views_at(f"{mount_prefix()}/{RECEIPTS}"), None))
    if not is_included or is_ours(next(views_at(f"/{MANIFEST}"), None)):
        return []
    return [
        Warning(
            f"/{MANIFEST} does not answer; agents look for it at the root of the host.",
            hint="Add *agentweb.urls.well_known to the urlpatterns of your root URLconf.",
            id="agentweb.W041",
        )
    ]


def check_query_names(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """E041."""
    return [
        Error(
            f"The input {name!r} of {action.name!r} travels in the query string, where a {name} is always refused.",
            hint="Rename the input, or call the action by POST.",
            obj=action.where,
            id="agentweb.E041",
        )
        for action in registry.actions()
        if action.takes_query
        for name in sorted(SECRET_NAMES & set(action.input_schema.get("properties", ())))
    ]


def check_cors(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W042."""
    if cors.MIDDLEWARE not in settings.MIDDLEWARE:
        return []
    prefix = cors.prefix_seen()
    actions = registry.actions()
    paths = [
        f"/{MANIFEST}",
        *(prefix + path for path in (f"/{RECEIPTS}", *(_sample(each, "0") for each in actions))),
    ]
    if not any(map(cors.covers, paths)):
        return []
    return [
        Warning(
            "CORS_URLS_REGEX covers the paths of agentweb, so django-cors-headers answers their preflights.",
            hint=cors.hint(),
            id="agentweb.W042",
        )
    ]


def check_hidden_paths(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W043."""
    ours = f"/{conf.get('ACTION_PREFIX')}/"
    return [
        Warning(
            f"The hidden action {action.name!r} answers at {action.path}, where a path that does not exist gets the "
            "site's own 404 and not agentweb's: its address can be guessed.",
            hint=f"Give it a path under {ours} (or none at all): there the two answers are equal.",
            obj=action.where,
            id="agentweb.W043",
        )
        for action in registry.actions()
        if action.visible is not None and not action.path.startswith(ours)
    ]


def check_negotiator(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """E042 and W044."""
    if not negotiator.is_set():
        return []
    if (wrong := negotiator.what_is_wrong()) is not None:
        return [
            Error(
                f"AGENTWEB['NEGOTIATOR'] cannot be asked: {wrong}",
                hint="Name a function def negotiate(offer, ctx) that returns accept(), counter(price) or reject() of "
                "agentweb.negotiation.",
                id="agentweb.E042",
            )
        ]
    if registry.faults() or any(action.effect is Effect.SPEND for action in registry.actions()):
        return []
    return [
        Warning(
            "The site negotiates prices, and no action has effect spend: nobody can buy at the price agreed on.",
            hint="Let the action that sells ask for ctx.agreement(terms) and charge its price.",
            id="agentweb.W044",
        )
    ]


def _other_view(action: Action, prefix: str, catch_alls: set[Any]) -> str | None:
    """The name of a view that is not ours and fits the action's path, in either slash form."""
    for sample in _SAMPLES if action.path_parameters else _SAMPLES[:1]:
        bare = prefix + _sample(action, sample).rstrip("/")
        for path in (bare, f"{bare}/"):
            for position, view in enumerate(views_at(path)):
                # A catch-all behind us is where a site's front-end lives; before us it takes the calls.
                if not is_ours(view) and (view not in catch_alls or position == 0):
                    return name_of(view)
    return None


def _sample(action: Action, value: str) -> str:
    path = action.path
    for name in action.path_parameters:
        path = path.replace(f"{{{name}}}", value)
    return path


CHECKS: Final = (
    check_action_paths,
    check_well_known,
    check_query_names,
    check_cors,
    check_hidden_paths,
    check_negotiator,
)
"""What ``agentweb.checks`` runs for this room."""
