"""Cursors of the site's search: see ``postings.cursors``."""

from __future__ import annotations

from agentweb.postings import cursors
from agentweb.postings.cursors import LENGTH, PAGES, Place

__all__ = ["LENGTH", "Place", "read", "write"]


def write(query: str, place: Place) -> str:
    """The cursor of a place in the results of a query."""
    return cursors.write(PAGES, query, place)


def read(query: str, cursor: str) -> Place:
    """The place that a cursor names. Raises invalid_cursor for one that was not given for this query."""
    return cursors.read(PAGES, query, cursor)
