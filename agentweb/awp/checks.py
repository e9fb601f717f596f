"""System checks of AWP: is the manifest what the protocol wants, do its texts fit, and does every address answer?

========== =============================================================================================
E090       the discovery manifest would break the protocol's schema
E091       SITEMAPS names what is not there, or is none
E092       SELECTOR is no CSS selector
W090       a text is over its budget and is served cut, or in parts
W091       another view of the site, or an action, answers at an address of AWP, or never gets asked
W092       the discovery manifest does not answer at the root of the host
W093       django-cors-headers covers the addresses of AWP and would answer by the site's own policy
W094       the site has an ``/llms.txt`` or ``/llms-full.txt`` of its own, which is served and ours is not
========== =============================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning

from agentweb import conf
from agentweb.awp import budgets, languages, protocol
from agentweb.awp.budgets import Budget, Measure
from agentweb.awp.content import sources
from agentweb.awp.content.convert import problem_of
from agentweb.awp.content.rendering import detail_of
from agentweb.awp.publishing import description, discovery, instructions, summary
from agentweb.awp.publishing.content_map import EMPTY
from agentweb.awp.publishing.facts import Facts, facts_of
from agentweb.catalog.registry import registry
from agentweb.http import cors
from agentweb.http.asking import own_place
from agentweb.http.mount import mount_prefix
from agentweb.http.site_urls import NO_SUCH_PATH, is_sites_own
from agentweb.http.urlconf import is_ours, name_of, other_views, routes_below, views_at

_LONGEST_OVERFLOW: Final = 300
"""Characters of what does not fit that a warning shows."""
_AT_THE_ROOT: Final = (protocol.WELL_KNOWN,)
_LLMS: Final = (protocol.LLMS, protocol.LLMS_FULL)
_BELOW: Final = (
    protocol.MANIFEST,
    protocol.SUMMARY,
    protocol.STRUCTURE,
    protocol.INSTRUCTIONS,
    protocol.FUNCTIONS,
    protocol.SEARCH,
    protocol.ANALYTICS,
    protocol.content_path("agentweb-check"),
    protocol.section_path("agentweb-check"),
    f"{protocol.ROOT}/agentweb-check",
)


def check_manifest(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """E090, as far as it can be known without the database: the content adds no member that could be wrong."""
    facts = _facts(budgets.at_most)
    if facts is None:
        return []
    return [
        Error(
            f"The discovery manifest of AWP would be invalid: {each['pointer'] or '/'} {each['message']}",
            hint=_cure(each["pointer"]),
            id="agentweb.E090",
        )
        for each in discovery.problems(discovery.manifest(facts))
    ]


def check_sources(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """E091 and E092: what a run would stumble over with every page. Of values of a wrong type E002 speaks."""
    if conf.problems():
        return []
    found: list[CheckMessage] = []
    try:
        sources.sitemaps()
    except Exception as error:
        found.append(
            Error(
                f"AGENTWEB['AWP']['SITEMAPS'] cannot be used: {detail_of(error)}",
                hint="Write the dict that Django's sitemap view is given, or where it is: 'shop.urls.sitemaps'.",
                id="agentweb.E091",
            )
        )
    selector = conf.get_in("AWP", "SELECTOR")
    wrong = problem_of(str(selector)) if selector else None
    if wrong is not None:
        found.append(
            Error(
                f"AGENTWEB['AWP']['SELECTOR'] cannot be used: {wrong}",
                hint="Write one as for a style sheet: '#content', 'div.text > article'.",
                id="agentweb.E092",
            )
        )
    return found


def check_budgets(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W090. Nothing served is ever over its budget; what was cut stands where the text points to.

    The tokenizer is loaded only when a text may be over its budget.
    """
    return _over_budget(budgets.count) if _over_budget(budgets.at_most) else []


def _over_budget(measure: Measure) -> list[CheckMessage]:
    facts = _facts(measure)
    if facts is None:
        return []
    return [
        Warning(
            f"{what} has {fitted.source_tokens:,} tokens, and {budget.tokens} are its budget. Over it: "
            f"{_shortened(fitted.overflow)}",
            hint=hint,
            obj=where,
            id="agentweb.W090",
        )
        for what, text, budget, hint, where in _texts(facts)
        if (fitted := budgets.fit(text, budget, measure=measure)).is_cut
    ]


def check_addresses(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W091, and where the site answers for /llms.txt itself W094."""
    if not _is_included():
        return []
    prefix = mount_prefix()
    catch_alls = {*views_at(NO_SUCH_PATH), *views_at(prefix + NO_SUCH_PATH)}
    first = next(views_at(f"{prefix}/{protocol.MANIFEST}"))
    if first in catch_alls and not is_ours(first):
        return [
            Warning(
                f"{name_of(first)} stands before agentweb.urls in the URLconf and takes all of its requests: AWP does "
                "not answer.",
                hint='Write path("", include("agentweb.urls")) above the pattern that catches all.',
                id="agentweb.W091",
            )
        ]
    others: dict[str, list[str]] = {}
    for path in _addresses(prefix):
        for other in other_views(path, catch_alls):
            others.setdefault(other, []).append(path)
    said = {other: f"answers at {paths[0]}{_and_more(paths)} too" for other, paths in others.items()}
    for route, view in routes_below(f"{prefix}/{protocol.ROOT}/"):
        # Above the include it is what answers there; below it, it is never asked.
        said.setdefault(name_of(view), f"is at /{route}, below /{protocol.ROOT}/")
    found: list[CheckMessage] = [
        Warning(
            f"{other} {what}, where AWP answers: above agentweb.urls it takes these requests, and below it gets none.",
            hint="Give it another address, or leave 'awp' out of AGENTWEB['ROOMS'].",
            id="agentweb.W091",
        )
        for other, what in said.items()
    ]
    found += [
        Warning(
            f"The action {action.name!r} has the address {action.path}, below /{protocol.ROOT}/, where AWP answers.",
            hint="Give the action another path, or leave 'awp' out of AGENTWEB['ROOMS'].",
            obj=action.where,
            id="agentweb.W091",
        )
        for action in registry.actions()
        if action.path.strip("/").split("/")[0] == protocol.ROOT
    ]
    return found


def check_well_known(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W092. Of a view that stands before ours at that address, W091 speaks."""
    if not _is_included() or any(map(is_ours, views_at(f"/{protocol.WELL_KNOWN}"))):
        return []
    return [
        Warning(
            f"/{protocol.WELL_KNOWN} does not answer; agents look for it at the root of the host.",
            hint="Add *agentweb.urls.well_known to the urlpatterns of your root URLconf.",
            id="agentweb.W092",
        )
    ]


def check_cors(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W093."""
    if cors.MIDDLEWARE not in settings.MIDDLEWARE or not _is_included():
        return []
    paths = (*_addresses(cors.prefix_seen()), *(f"/{each}" for each in _LLMS))
    covered = [path for path in paths if cors.covers(path)]
    if not covered:
        return []
    return [
        Warning(
            f"CORS_URLS_REGEX covers {covered[0]} and so addresses of AWP: django-cors-headers answers their "
            "preflights.",
            hint=cors.hint(),
            id="agentweb.W093",
        )
    ]


def check_llms(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W094. It may well be meant so; then the check can be silenced."""
    if not _is_included():
        return []
    return [
        Warning(
            f"The site has a /{path} of its own, which is served; the one that agentweb makes is not. Agents in "
            "browsers can read it only if the site sends Access-Control-Allow-Origin: * with it.",
            hint="Take the site's own away, or send that header and silence this check to keep it.",
            id="agentweb.W094",
        )
        for path in _LLMS
        if is_sites_own(path, is_well_known=True)
    ]


def _facts(measure: Measure) -> Facts | None:
    """The facts without the content, which is in the database; None where settings are wrong of which E002 speaks."""
    if conf.problems():
        return None
    try:
        place = own_place()
    except ValueError:
        return None
    return facts_of(place, languages.readable("")[0], EMPTY, measure)


def _texts(facts: Facts) -> Iterator[tuple[str, str, Budget, str, str | None]]:
    """What it is, the source, its budget, what to do about it, and where it is declared."""
    settings_hint = "Shorten it; where it points to, agents find the rest."
    for key, text, budget in (
        ("DESCRIPTION", description.source(facts), budgets.DISCOVERY_DESCRIPTION),
        ("SUMMARY", summary.source(facts), budgets.SUMMARY),
        ("INSTRUCTIONS", instructions.source(facts), budgets.INSTRUCTIONS),
    ):
        set_by_site = conf.get_in("AWP", key) is not None
        what = (
            f"AGENTWEB['AWP'][{key!r}]" if set_by_site else f"The {key.lower()} that is made of the catalog"
        )
        hint = settings_hint if set_by_site else f"Write a shorter one: AGENTWEB['AWP'][{key!r}]."
        yield what, text, budget, hint, None
    for action in facts.actions:
        yield (
            f"The description of the action {action.name!r}",
            action.description,
            budgets.FUNCTION_DESCRIPTION,
            "Shorten it; the manifest of the actions has it as a whole.",
            action.where,
        )


def _cure(pointer: str) -> str:
    key = pointer.strip("/").upper()
    if key in conf.GROUPS["AWP"]:
        return f"Change AGENTWEB['AWP'][{key!r}]."
    return "Change what it is made of; the manifest is served only when it is valid."


def _shortened(text: str) -> str:
    shown = " ".join(text.split())
    return shown if len(shown) <= _LONGEST_OVERFLOW else f"{shown[:_LONGEST_OVERFLOW]}…"


def _and_more(paths: list[str]) -> str:
    return f" and {len(paths) - 1} more addresses" if len(paths) > 1 else ""


def _addresses(prefix: str) -> list[str]:
    return [*(f"/{path}" for path in _AT_THE_ROOT), *(f"{prefix}/{path}" for path in _BELOW)]


def _is_included() -> bool:
    if not getattr(settings, "ROOT_URLCONF", None):
        return False
    return any(is_ours(view) for view in views_at(f"{mount_prefix()}/{protocol.MANIFEST}"))


CHECKS: Final[tuple[Callable[..., list[CheckMessage]], ...]] = (
    check_manifest,
    check_sources,
    check_budgets,
    check_addresses,
    check_well_known,
    check_cors,
    check_llms,
)
"""What ``agentweb.checks`` runs for this room."""
