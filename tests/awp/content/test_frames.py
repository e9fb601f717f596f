"""What a page shows in a frame is not its text, and where that is, is."""

from __future__ import annotations

import pytest

from agentweb.awp.content.convert import convert

FILM = "https://www.youtube-nocookie.com/embed/x1"


def markdown(frame: str) -> str:
    page = f"<main><h1>Tea</h1><p>Before.</p>{frame}<p>After.</p></main>"
    return convert(page, url="https://shop.example/tea/").markdown


@pytest.mark.parametrize(
    ("frame", "link"),
    [
        (f'<iframe src="{FILM}" title="How to brew" width="560"></iframe>', f"[How to brew]({FILM})"),
        (f'<iframe src="{FILM}"></iframe>', f"[www.youtube-nocookie.com]({FILM})"),
        ('<iframe data-src="/map?at=1" title="A map">Old</iframe>', "[A map](https://shop.example/map?at=1)"),
    ],
)
def test_a_frame_leaves_a_link(frame: str, link: str) -> None:
    assert markdown(frame) == f"# Tea\n\nBefore.\n\n{link}\n\nAfter.\n"


@pytest.mark.parametrize(
    "frame",
    [
        f'<iframe src="{FILM}" width="1" height="1"></iframe>',
        f'<iframe src="{FILM}" height="0px"></iframe>',
        f'<iframe src="{FILM}" hidden></iframe>',
        f'<noscript><iframe src="{FILM}" title="Tags"></iframe></noscript>',
        '<iframe src="javascript:alert(1)" title="A script"></iframe>',
        '<iframe src="about:blank" title="Nothing"></iframe>',
        '<iframe title="Nothing"></iframe>',
        '<iframe src="http://[::1" title="None"></iframe>',
    ],
    ids=range(8),
)
def test_a_frame_that_nobody_sees_or_that_leads_nowhere_leaves_none(frame: str) -> None:
    assert "Before.\n\nAfter." in markdown(frame)
