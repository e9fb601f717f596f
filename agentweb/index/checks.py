"""System checks of the index: can it call other sites, and do we alone answer at its addresses?

========== =============================================================================================
E110       the package with which other sites are called is not installed
W110       another view of the site, or an action, answers at an address of the index
W111       the index may call this machine itself, and DEBUG is off
========== =============================================================================================
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning

from agentweb import conf
from agentweb.catalog.registry import registry
from agentweb.client.addresses import LOOPBACK
from agentweb.conf import runs
from agentweb.http.mount import mount_prefix
from agentweb.http.site_urls import NO_SUCH_PATH
from agentweb.http.urlconf import other_views, views_at
from agentweb.index.mount import FIND, MANIFESTS, ROOT


def check_client(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """E110."""
    if find_spec("httpx") is not None:
        return []
    return [
        Error(
            "The index calls other sites, and httpx is not installed.",
            hint='pip install "agentweb-django[client]", or leave \'index\' out of AGENTWEB["ROOMS"].',
            id="agentweb.E110",
        )
    ]


def check_addresses(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W110."""
    prefix = mount_prefix()
    catch_alls = {*views_at(NO_SUCH_PATH), *views_at(prefix + NO_SUCH_PATH)}
    found: list[CheckMessage] = [
        Warning(
            f"{other} answers at {prefix}/{path} too, an address of the index.",
            hint="Give it another address, or leave 'index' out of AGENTWEB['ROOMS'].",
            id="agentweb.W110",
        )
        for path in (FIND, MANIFESTS)
        for other in other_views(f"{prefix}/{path}", catch_alls)
    ]
    found += [
        Warning(
            f"The action {action.name!r} has the address {action.path}, below /{ROOT}/, where the index answers.",
            hint="Give the action another path, or leave 'index' out of AGENTWEB['ROOMS'].",
            obj=action.where,
            id="agentweb.W110",
        )
        for action in registry.actions()
        if action.path.strip("/").split("/")[0] == ROOT
    ]
    return found


def check_hosts(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """W111. Whoever may name a site may then have this machine's own services called."""
    allowed = conf.get_in("INDEX", "ALLOW_HOSTS")
    if settings.DEBUG or runs.is_test() or not conf.get_in("INDEX", "SUBMISSIONS") or conf.problems():
        return []
    own = sorted(LOOPBACK & {str(host).lower() for host in allowed})
    if not own:
        return []
    return [
        Warning(
            f"AGENTWEB['INDEX']['ALLOW_HOSTS'] has {', '.join(own)}: anybody who names a site can have the server call "
            "itself.",
            hint="Take it out, or set SUBMISSIONS to False.",
            id="agentweb.W111",
        )
    ]


CHECKS = (check_client, check_addresses, check_hosts)
