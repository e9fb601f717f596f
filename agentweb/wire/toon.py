"""TOON, the notation of AIP's ``.toon`` documents, by the official ``toon-format`` package (specification 4.4).

The package writes NaN and infinities as null, and leaves it to the recursion limit how deep a value may be; so what
is not plain JSON is refused here before anything is written. What is read is read strictly.
"""

from __future__ import annotations

from typing import Final, cast

import toon_format

from agentweb.wire.json_types import Json
from agentweb.wire.json_values import check_value

MEDIA_TYPE: Final = "text/toon"
CONTENT_TYPE: Final = f"{MEDIA_TYPE}; charset=utf-8"
MAX_DEPTH: Final = 64


class ToonError(ValueError):
    """It is no TOON document, or none that a value here could have been; the text says where or why."""


def dumps(value: Json) -> bytes:
    """The value as TOON in UTF-8, members in their order: it decodes to what the value's JSON decodes to.

    Raises ValueError, naming the place, for what is not plain JSON and for what nests deeper than 64 levels.
    """
    check_value(value, max_depth=MAX_DEPTH)
    return toon_format.dumps(value).encode()


def loads(data: bytes, *, max_bytes: int) -> Json:
    """The value of a TOON document, read strictly: every count and indentation has to hold.

    Numbers are ints and floats. Raises ToonError, also for what is longer than ``max_bytes``.
    """
    if len(data) > max_bytes:
        raise ToonError(f"The document has more than {max_bytes} bytes.")
    try:
        value = toon_format.loads(data, strict=True)
        check_value(value, max_depth=MAX_DEPTH)
    except RecursionError:
        raise ToonError(f"The document nests deeper than {MAX_DEPTH} levels.") from None
    except ValueError as error:
        raise ToonError(str(error)) from None
    return cast("Json", value)
