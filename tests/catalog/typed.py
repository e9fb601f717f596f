"""Types as a site author would write them, with annotations kept as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import KW_ONLY, InitVar, dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum
from typing import (
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    NewType,
    NotRequired,
    Required,
    TypedDict,
    TypeVar,
)
from uuid import UUID, uuid4

T = TypeVar("T")
Sku = NewType("Sku", str)


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


class Odd(Enum):
    PAIR = (1, 2)


class Empty(Enum):
    pass


class Ge:
    """In the manner of annotated_types."""

    def __init__(self, ge: Any) -> None:
        self.ge = ge


class Between:
    def __init__(self, gt: Any, lt: Any) -> None:
        self.gt, self.lt, self.ge, self.le = gt, lt, None, None


class Le:
    def __init__(self, le: Any) -> None:
        self.le = le


class MultipleOf:
    def __init__(self, multiple_of: Any) -> None:
        self.multiple_of = multiple_of


class Len:
    def __init__(self, min_length: int, max_length: int | None = None) -> None:
        self.min_length, self.max_length = min_length, max_length


class Constraints:
    def __init__(self, pattern: Any) -> None:
        self.pattern = pattern


class Doc:
    def __init__(self, documentation: str) -> None:
        self.documentation = documentation


@dataclass
class Address:
    """Where to send it.

    Only inland.
    """

    city: Annotated[str, Len(1, 80), "Name of the town"]
    lines: list[str] = field(default_factory=list, metadata={"description": "Street and number"})


@dataclass(frozen=True)
class Order:
    sku: Sku
    _: KW_ONLY
    quantity: Annotated[int, {"minimum": 1, "maximum": 20}] = 1
    colour: Colour = Colour.RED
    size: Size | None = None
    on: date | None = None
    price: Decimal = Decimal("9.90")
    to: Address | None = None
    tags: tuple[str, ...] = ()
    token: UUID = field(default_factory=uuid4)
    made: str = field(default="x", init=False)
    known: ClassVar[int] = 3


@dataclass(frozen=True)
class Day:
    on: date


@dataclass
class Sloppy:
    count: int = None  # type: ignore[assignment]
    weird: Any = object()  # noqa: RUF009 - one for all is meant
    plain: Any = 5


class Search(TypedDict, total=False):
    """Find products."""

    query: Required[Annotated[str, {"minLength": 1}]]
    limit: Annotated[NotRequired[int], Ge(1)]
    since: datetime


class Narrowed(Search):
    shop: str
    exact: NotRequired[bool]


@dataclass
class Node:
    """A tree."""

    value: int
    children: list[Node] = field(default_factory=list)
    next: Node | None = None


class Other:
    """Not the Node above, but of its name."""

    @dataclass
    class Node:
        text: str
        inner: Other.Node | None = None


class Left(TypedDict):
    right: NotRequired[Right]


class Right(TypedDict):
    left: NotRequired[Left]


@dataclass
class Card:
    kind: Literal["card"]
    number: str


@dataclass
class Transfer:
    kind: Literal["transfer"]
    iban: str


@dataclass
class Everything:
    text: str
    whole: int
    flag: bool
    real: float
    exact: Decimal
    day: date
    moment: datetime
    hour: time
    ident: UUID
    nothing: None
    anything: Any
    choice: Literal["a", 1, True, None]
    colour: Colour
    size: Size
    either: int | str
    maybe: str | None
    several: date | UUID | int
    listed: Sequence[date]
    bare: list  # type: ignore[type-arg]
    fixed: tuple[int, date]
    none: tuple[()]
    many: set[date]
    frozen: AbstractSet[int]
    named: Mapping[str, Decimal]
    coloured: dict[Colour, int]
    open: dict  # type: ignore[type-arg]
    pay: Card | Transfer


@dataclass
class NeedsMore:
    a: int
    secret: InitVar[int]


@dataclass
class Box(Generic[T]):
    content: T


class Point(NamedTuple):
    x: int


@dataclass
class Unknown:
    it: Missing  # type: ignore[name-defined]  # noqa: F821


@dataclass
class Unreadable:
    it: int[str]  # type: ignore[type-arg]


@dataclass
class OwnConstructor:
    a: int

    def __init__(self, *rest: Any, **named: Any) -> None:
        self.a = named.get("a", 0)


UPPER = re.compile("^[A-Z]+$")
