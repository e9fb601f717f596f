"""What the site under test calls itself."""

from __future__ import annotations

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from agentweb import conf
from agentweb.wire.http_signature import authority_of


def origin_of(given: str | None) -> str:
    """``given``, else ``AGENTWEB["ORIGIN"]``, else the test client's own host, under DEBUG only, as for any request.

    Raises ImproperlyConfigured when the site has no origin.
    """
    found = conf.get("ORIGIN") if given is None else given
    if found:
        return str(found).rstrip("/")
    if settings.DEBUG:
        return "http://testserver"
    raise ImproperlyConfigured(
        'AGENTWEB["ORIGIN"] is not set, so the site refuses every signed request outside DEBUG. Set it in the '
        'settings, or for the test: @override_settings(AGENTWEB={"ORIGIN": "https://testserver"}).'
    )


def site_of(given: str | None) -> str:
    """``host[:port]``, the audience of grants."""
    return authority_of(origin_of(given))
