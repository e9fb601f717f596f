"""The site's authority where no request names it: in workers and in the admin."""

from __future__ import annotations

from agentweb import conf
from agentweb.wire.http_signature import authority_of


def authority() -> str:
    """What stands after the @ in addresses here. Without ORIGIN, under DEBUG, it is that of whatever host is asked."""
    origin = conf.get("ORIGIN")
    return "localhost" if origin is None else authority_of(str(origin))
