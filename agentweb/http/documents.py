"""Public documents: what everybody gets from an address, as a room declares it for export and for the doctor.

A room has a module ``documents`` with ``documents()``, the list of what is public at the moment. A document's bytes
come from the function that its view uses, so that an exported file and a GET cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where the site is: ``origin`` (``https://shop.example``), ``site`` (its ``host[:port]``), and the ``prefix``
    before our paths when it is mounted under one (``/shop``, else empty)."""

    origin: str
    site: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class PublicDocument:
    """``path`` as under the origin, without the prefix of a site that is mounted under one; ``content`` gives its
    bytes for callers who show nothing. ``is_well_known``: the path is at the origin's root wherever the site is.
    ``is_same_for_all``: nobody gets another document at its address by saying who they are.
    ``quotes_pages``: it has the text of the site's own pages, whose links are theirs."""

    path: str
    media_type: str
    content: Callable[[Place], bytes]
    is_well_known: bool = False
    quotes_pages: bool = False
    is_same_for_all: bool = False

    def path_at(self, place: Place) -> str:
        """The whole path of its URL."""
        return self.path if self.is_well_known else place.prefix + self.path
