"""System checks of the pages for people.

========== ==============================================================================================
W050       people are needed, for a call, a grant or to connect an agent, and something is in the way of the pages
W059       LOGIN_URL is the admin's login, which lets staff in and nobody else
========== ==============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.core.checks import CheckMessage, Warning
from django.shortcuts import resolve_url
from django.template import TemplateDoesNotExist
from django.template.loader import get_template
from django.urls import NoReverseMatch, Resolver404, ResolverMatch, get_script_prefix, resolve, reverse
from django.utils.module_loading import import_string

from agentweb import conf
from agentweb.catalog.registry import registry
from agentweb.people.views import ApprovalView

_SAMPLE: Final = "ap_" + "0" * 22


def check_approval_pages(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W050, one for each thing that is in the way."""
    waiting = [action.name for action in registry.actions() if action.confirm is not None]
    if waiting:
        needed = f"The action {waiting[0]!r} waits for a person, and nobody can approve it"
    elif registry.pages():
        needed = "Agents send people to connect them with the site's pages, and nobody can"
    elif conf.get("GRANT_REQUESTS"):
        needed = "GRANT_REQUESTS lets agents ask people for grants, and nobody can give one"
    else:
        return []
    if not getattr(settings, "ROOT_URLCONF", None):
        return []
    return [
        Warning(
            f"{needed}: {what}.",
            hint=hint,
            id="agentweb.W050",
        )
        for what, hint in _obstacles()
    ]


def check_login(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W059. A person who is no staff cannot connect an agent, approve a call or look at their receipts then."""
    if not getattr(settings, "ROOT_URLCONF", None):
        return []
    login = _path_of(lambda: resolve_url(settings.LOGIN_URL))
    match = _match_at(login) if login is not None else None
    if match is None or match.url_name != "login" or "admin" not in match.app_names:
        return []
    return [
        Warning(
            "LOGIN_URL is the login of the admin, which lets only staff in: nobody else can get to the pages where "
            "people connect agents, decide about calls and see receipts.",
            hint='Add path("accounts/", include("django.contrib.auth.urls")) with a template registration/login.html, '
            "and set LOGIN_URL = 'login'. Silence this where everybody is staff.",
            id="agentweb.W059",
        )
    ]


def _obstacles() -> Iterator[tuple[str, str]]:
    """(what is in the way, what to do)."""
    if not any(map(logs_in, settings.MIDDLEWARE)):
        yield (
            "no middleware knows who is logged in",
            "Add SessionMiddleware and AuthenticationMiddleware of django.contrib to MIDDLEWARE.",
        )
    page = _path_of(lambda: reverse("agentweb:approval", args=[_SAMPLE]))
    if page is None or getattr(_view_at(page), "view_class", None) is not ApprovalView:
        yield (
            "its page does not answer",
            'Add path("", include("agentweb.urls")) to your root URLconf, above what catches all, and keep the '
            "paths of actions apart from PEOPLE_PREFIX.",
        )
    login = _path_of(lambda: resolve_url(settings.LOGIN_URL))
    if login is None or (login.startswith("/") and not login.startswith("//") and _view_at(login) is None):
        yield (
            f"nothing answers at LOGIN_URL, {settings.LOGIN_URL!r}",
            "Let LOGIN_URL name the page where people log in, such as 'login' with django.contrib.auth.urls.",
        )
    try:
        get_template("agentweb/people/approval.html")
    except TemplateDoesNotExist:
        yield (
            "its template is not found",
            "Let a DjangoTemplates engine of TEMPLATES have APP_DIRS, and 'agentweb' be in INSTALLED_APPS.",
        )


def logs_in(dotted: str) -> bool:
    """Whether this middleware tells who is logged in."""
    try:
        middleware = import_string(dotted)
    except ImportError:
        return False  # Django says so itself
    return isinstance(middleware, type) and issubclass(middleware, AuthenticationMiddleware)


def _path_of(find: Callable[[], str]) -> str | None:
    try:
        return find()
    except NoReverseMatch:
        return None


def _view_at(path: str) -> Any:
    """The view that answers at a path of this host, None when there is none."""
    match = _match_at(path)
    return None if match is None else match.func


def _match_at(path: str) -> ResolverMatch | None:
    prefix = get_script_prefix()
    bare = path.partition("?")[0]
    try:
        return resolve("/" + bare.removeprefix(prefix) if bare.startswith(prefix) else bare)
    except Resolver404:
        return None
