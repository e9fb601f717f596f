"""From the HTML of a page to what is published of it.

lxml and the converter are loaded by the first page, not by importing this: most processes of a site never convert one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agentweb.awp.content.characters import marked, written
from agentweb.awp.content.decoding import decoded
from agentweb.awp.titles import own_title

MAX_CHARACTERS: Final = 10_000_000
"""Of HTML; longer pages are refused."""


@dataclass(frozen=True, slots=True)
class Converted:
    """What a page says, and what it says of itself. Texts are empty where there is none.

    ``title``, ``description``, ``language`` (a BCP 47 tag) and ``canonical`` (a whole URL) are those of its head, the
    title without the site's name, or that of its first heading where nothing is left. ``markdown`` is empty where
    nothing is left of the page. ``asks_password`` is whether it has a field for one. ``is_selected``: the content is
    what the selector names.
    """

    title: str
    description: str
    markdown: str
    is_noindex: bool
    language: str
    canonical: str
    asks_password: bool = False
    is_selected: bool = False


def convert(html: bytes | str, *, url: str, selector: str | None = None, charset: str = "") -> Converted:
    """Convert the page at ``url``; ``charset`` is HTTP's, for bytes.

    Raises ValueError for a page that is too long or nested too deeply, and for a selector that is none. Time and
    memory are in proportion to the page's length.
    """
    if len(html) > MAX_CHARACTERS:
        raise ValueError(f"The page is longer than {MAX_CHARACTERS:,} characters.")
    # Here, because both are heavy.
    from agentweb.awp.content.extraction import extract  # noqa: PLC0415
    from agentweb.awp.content.markdown import markdown_of  # noqa: PLC0415

    page = extract(decoded(html, charset) if isinstance(html, bytes) else html, url, selector)
    title = own_title(page.head.title, page.head.site_name) or page.heading or page.head.title
    heading = page.heading or title
    markdown = markdown_of(page.content, page.head.base)
    if markdown and not page.has_heading and heading:
        markdown = f"# {written(marked(heading))}\n\n{markdown}"
    return Converted(
        title=title,
        description=page.head.description,
        markdown=markdown,
        is_noindex=page.head.is_noindex,
        language=page.head.language,
        canonical=page.head.canonical,
        asks_password=page.head.asks_password,
        is_selected=page.is_selected,
    )


def problem_of(selector: str) -> str | None:
    """Why this is no CSS selector that can be used; None for one that can."""
    from agentweb.awp.content.extraction import compiled  # noqa: PLC0415 - see above

    try:
        compiled(selector)
    except ValueError as error:
        return str(error)
    return None
