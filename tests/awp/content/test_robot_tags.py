"""What a header says to robots of a page."""

from __future__ import annotations

import pytest

from agentweb.awp.content.robot_tags import forbids_index


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("noindex", True),
        ("NONE", True),
        ("noarchive, NoIndex", True),
        ("noarchive; noindex", True),
        ("nofollow noindex", True),
        ("agentweb: noindex", True),
        ("AgentWeb: nofollow, noindex", True),
        ("*: noindex", True),
        ("googlebot: noindex", True),
        ("otherbot: nofollow, agentweb: noindex", True),
        ("unavailable_after: Wednesday, 25-Jun-2931 15:00:00 PST, noindex", True),
        ("unavailable_after: 25 Jun 2931 15:00:00 PST, noindex", True),
        ("agentweb: unavailable_after: Friday, 25-Jun-2010 15:00:00 PST", True),
        ("unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT", True),
        ("unavailable_after: 2010-06-25T15:00:00+02:00", True),
        ("unavailable_after: 2010-06-25", True),
        ("max-image-preview: none, noindex", True),
        ("", False),
        ("all", False),
        ("otherbot: noindex", False),
        ("otherbot: nofollow, noindex", False),
        ("agentweb: nofollow, otherbot: noindex", False),
        ("max-image-preview:none", False),
        ("unavailable_after: Wednesday, 25-Jun-2931 15:00:00 PST", False),
        ("unavailable_after: 2931-06-25", False),
        ("unavailable_after: some day", False),
        ("unavailable_after:", False),
        ("otherbot: unavailable_after: 2010-06-25", False),
        (", ; :,:", False),
    ],
    ids=range(29),
)
def test_noindex_is_heard_and_nothing_else_is_taken_for_it(header: str, expected: bool) -> None:
    assert forbids_index(header, is_header=True) is expected
