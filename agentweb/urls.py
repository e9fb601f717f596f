"""Front door: the URLs of every room that is on, and the pages for people.

``path("", include("agentweb.urls"))`` is all that a site needs. A site that includes it under a path of its own
(``path("shop/", include("agentweb.urls"))``) adds ``*agentweb.urls.well_known`` to its root URLconf too, because
agents look for ``/.well-known/`` at the root of the host only.
"""

from __future__ import annotations

from typing import Final

from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.urls import URLPattern, URLResolver

from agentweb import rooms

app_name: Final = "agentweb"

if apps.apps_ready and not apps.is_installed("agentweb"):
    # Otherwise the first model that is imported says it, in words that name neither setting nor cure.
    raise ImproperlyConfigured(
        "agentweb.urls is included in the URLconf, and 'agentweb' is not in INSTALLED_APPS. Add it there, or take "
        "the include out."
    )

from agentweb.people import urls as people_urls  # noqa: E402 - its models may be loaded only now

well_known: list[URLPattern | URLResolver] = rooms.well_known()
urlpatterns: list[URLPattern | URLResolver] = [*well_known, *rooms.urlpatterns(), *people_urls.urlpatterns]
