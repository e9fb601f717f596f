"""The shapes of what actions take and answer. Agents see them as JSON Schema, with these sentences."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal, TypedDict

from demo_project.shop.bargains import FEWEST
from demo_project.shop.models import MAX_LINE

ProductId = Annotated[
    str, {"minLength": 1, "maxLength": 60, "description": "The id that search_products gives."}
]
Quantity = Annotated[int, {"minimum": 1, "maximum": MAX_LINE}]
CartId = Annotated[
    str, {"minLength": 1, "maxLength": 25, "description": "As add_to_cart and cart answer it."}
]
OrderId = Annotated[str, {"minLength": 1, "maxLength": 25, "description": "As checkout answers it."}]
Currency = Literal["USD", "JPY"]
OrderState = Literal["placed", "shipped", "cancelled"]
RequestStatus = Literal["pending", "approved", "declined", "withdrawn"]
RequestKind = Literal["refund", "large_purchase"]


# What actions take


@dataclass(frozen=True, slots=True)
class Nothing:
    """No input."""


@dataclass(frozen=True, slots=True)
class Search:
    query: Annotated[
        str, {"minLength": 1, "maxLength": 100, "description": "Words to look for, such as 'printer paper'."}
    ]
    # The extras stand around the whole union: Python 3.11 cannot make a union of what has a dict in it.
    category: Annotated[
        str | None, {"minLength": 1, "maxLength": 40, "description": "Only this category."}
    ] = None
    currency: Annotated[Currency | None, {"description": "Only products priced in this currency."}] = None
    max_price: Annotated[
        Decimal | None,
        {"exclusiveMinimum": 0, "description": "At most this, in currency; without currency in USD."},
    ] = None
    limit: Annotated[int, {"minimum": 1, "maximum": 50, "description": "How many products to answer."}] = 10


@dataclass(frozen=True, slots=True)
class ProductChoice:
    product_id: ProductId


@dataclass(frozen=True, slots=True)
class CartAddition:
    product_id: ProductId
    quantity: Annotated[Quantity, {"description": "How many more to put into the cart."}]


@dataclass(frozen=True, slots=True)
class CartChange:
    product_id: ProductId
    quantity: Annotated[
        int, {"minimum": 0, "maximum": MAX_LINE, "description": "How many the cart shall hold."}
    ]


@dataclass(frozen=True, slots=True)
class Purchase:
    cart_id: CartId
    price: Annotated[
        Decimal, {"exclusiveMinimum": 0, "description": "The most that may be paid for the whole cart."}
    ]


@dataclass(frozen=True, slots=True)
class BulkPurchase:
    product_id: ProductId
    quantity: Annotated[int, {"minimum": FEWEST, "maximum": MAX_LINE}]
    price: Annotated[
        Decimal, {"exclusiveMinimum": 0, "description": "The most that may be paid for all of them."}
    ]


@dataclass(frozen=True, slots=True)
class OrderQuery:
    order_id: Annotated[
        str | None, {"minLength": 1, "maxLength": 25, "description": "One order; left out, the newest."}
    ] = None
    limit: Annotated[int, {"minimum": 1, "maximum": 50, "description": "How many orders, newest first."}] = 10


@dataclass(frozen=True, slots=True)
class OrderChoice:
    order_id: OrderId


@dataclass(frozen=True, slots=True)
class Letter:
    topic: Literal["order", "product", "delivery", "other"]
    text: Annotated[str, {"minLength": 1, "maxLength": 2000}]
    reply_to: Annotated[str | None, {"format": "email", "maxLength": 254}] = None


@dataclass(frozen=True, slots=True)
class Address:
    recipient: Annotated[str, {"minLength": 1, "maxLength": 100}]
    street: Annotated[str, {"minLength": 1, "maxLength": 200, "description": "Street and number."}]
    postcode: Annotated[str, {"minLength": 1, "maxLength": 20}]
    city: Annotated[str, {"minLength": 1, "maxLength": 100}]
    country: Annotated[
        str, {"pattern": "^[A-Z]{2}$", "description": "Two capital letters (ISO 3166), such as NL."}
    ]


@dataclass(frozen=True, slots=True)
class Delivery:
    address: Address


@dataclass(frozen=True, slots=True)
class RequestChoice:
    request_id: Annotated[
        str, {"minLength": 1, "description": "The request ID itself; do not wrap it in an object"}
    ]


# What actions answer


class ProductSummary(TypedDict):
    id: str
    name: str
    category: str
    price: Decimal
    currency: Currency
    in_stock: int


class ProductList(TypedDict):
    items: list[ProductSummary]
    found: int


class ProductDetail(ProductSummary):
    description: str


class Line(TypedDict):
    product_id: str
    name: str
    quantity: int
    price: Decimal


class CartContent(TypedDict):
    cart_id: str
    lines: list[Line]
    total: Decimal
    currency: Currency


class CartList(TypedDict):
    carts: list[CartContent]


class OrderContent(TypedDict):
    order_id: str
    state: OrderState
    lines: list[Line]
    total: Decimal
    currency: Currency
    receipt: str
    delivery: str
    placed_at: datetime


class OrderList(TypedDict):
    orders: list[OrderContent]


class Sent(TypedDict):
    message_id: str


class DeliverySet(TypedDict):
    delivery: str


class RequestContent(TypedDict):
    id: str
    amount: int
    status: RequestStatus
    currency: Currency
    kind: RequestKind
    order: str
    customer: str | None
