"""The shop's tables. Prices and totals are minor units of their currency (cents; yen have none)."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q

from agentweb.wire.encoding import random_id
from demo_project.shop.pricing import price_text

MAX_LINE = 20
"""How many of one product a cart may hold."""


class Currency(models.TextChoices):
    USD = "USD", "US dollar"
    JPY = "JPY", "Japanese yen"


class Category(models.Model):
    slug = models.SlugField(primary_key=True, max_length=40)
    name = models.CharField(max_length=60, unique=True)
    position = models.PositiveSmallIntegerField(help_text="Place on the front page.")

    class Meta:
        ordering: ClassVar = ["position", "slug"]
        verbose_name_plural = "categories"

    def __str__(self) -> str:
        return self.name


class Product(models.Model):
    """``stock`` is only ever changed by conditional updates (see ``stock.py``), so it cannot be oversold."""

    slug = models.SlugField(primary_key=True, max_length=60)
    name = models.CharField(max_length=100)
    description = models.CharField(max_length=400)
    category = models.ForeignKey(Category, on_delete=models.PROTECT, related_name="products")
    price = models.PositiveBigIntegerField(help_text="Minor units: 749 is 7.49 USD, 1200 is 1200 JPY.")
    currency = models.CharField(max_length=3, choices=Currency.choices, default=Currency.USD)
    stock = models.IntegerField(default=0)

    class Meta:
        ordering: ClassVar = ["name", "slug"]
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(stock__gte=0), name="shop_stock_not_negative"),
            models.CheckConstraint(condition=Q(price__gt=0), name="shop_price_positive"),
            models.CheckConstraint(condition=Q(currency__in=Currency.values), name="shop_currency_known"),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def price_text(self) -> str:
        return price_text(self.price, self.currency)


class Owned(models.Model):
    """A row of one agent and the person it acted for; ``ownership.Owner`` says who may see it."""

    subject = models.CharField(max_length=64, help_text="The acting agent, as receipts name it.")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="+"
    )

    class Meta:
        abstract = True


def new_cart_id() -> str:
    return random_id("ct_")


def new_order_id() -> str:
    return random_id("or_")


def new_message_id() -> str:
    return random_id("cm_")


class Cart(Owned):
    """One open cart for each owner and currency; ordering closes it for good."""

    class State(models.TextChoices):
        OPEN = "open"
        ORDERED = "ordered"

    id = models.CharField(primary_key=True, max_length=25, default=new_cart_id)
    currency = models.CharField(max_length=3, choices=Currency.choices)
    state = models.CharField(max_length=7, choices=State.choices, default=State.OPEN)
    changed_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            # Two, because NULL is different from every NULL.
            models.UniqueConstraint(
                fields=["subject", "user", "currency"],
                condition=Q(state="open", user__isnull=False),
                name="shop_one_open_cart",
            ),
            models.UniqueConstraint(
                fields=["subject", "currency"],
                condition=Q(state="open", user__isnull=True),
                name="shop_one_open_cart_without_user",
            ),
        ]

    def __str__(self) -> str:
        return self.id


class CartLine(models.Model):
    cart = models.ForeignKey(Cart, on_delete=models.CASCADE, related_name="lines")
    product = models.ForeignKey(Product, on_delete=models.CASCADE, related_name="+")
    quantity = models.PositiveSmallIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["cart", "product"], name="shop_cart_line_once"),
            models.CheckConstraint(
                condition=Q(quantity__gte=1) & Q(quantity__lte=MAX_LINE), name="shop_cart_line_quantity"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} x {self.product_id}"


class Order(Owned):
    """A paid order. ``receipt`` is the id of the signed receipt of an agent's payment, or of the slip of a person's."""

    class State(models.TextChoices):
        PLACED = "placed"
        SHIPPED = "shipped"
        CANCELLED = "cancelled"

    id = models.CharField(primary_key=True, max_length=25, default=new_order_id)
    cart = models.OneToOneField(Cart, on_delete=models.PROTECT, related_name="order")
    currency = models.CharField(max_length=3, choices=Currency.choices)
    total = models.PositiveBigIntegerField()
    state = models.CharField(max_length=9, choices=State.choices, default=State.PLACED)
    receipt = models.CharField(max_length=25, unique=True)
    deliver_to = models.TextField(blank=True, help_text="Empty: kept for collection in the shop.")
    placed_at = models.DateTimeField(db_index=True)

    class Meta:
        ordering: ClassVar = ["-placed_at", "id"]
        indexes: ClassVar = [
            models.Index(fields=["user", "placed_at"], name="shop_order_of_person"),
            models.Index(fields=["subject", "placed_at"], name="shop_order_of_agent"),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def total_text(self) -> str:
        return price_text(self.total, self.currency)

    @property
    def is_agreed(self) -> bool:
        """Its total was negotiated: it is not what the lines come to."""
        return self.total != sum(line.quantity * line.price for line in self.lines.all())

    @property
    def is_open(self) -> bool:
        """It has not left the shop, and can be cancelled."""
        return self.state == self.State.PLACED


class OrderLine(models.Model):
    """What was bought, at the price of that moment."""

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
    product = models.ForeignKey(Product, on_delete=models.PROTECT, related_name="+")
    name = models.CharField(max_length=100)
    price = models.PositiveBigIntegerField()
    quantity = models.PositiveSmallIntegerField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["order", "product"], name="shop_order_line_once"),
            models.CheckConstraint(condition=Q(quantity__gte=1), name="shop_order_line_quantity"),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} x {self.name}"

    @property
    def together_text(self) -> str:
        return price_text(self.quantity * self.price, self.order.currency)


class StaffRequest(models.Model):
    """Something about an order that a member of the staff decides, on the control panel; ``staff_requests.py``."""

    class Kind(models.TextChoices):
        REFUND = "refund", "Refund"
        LARGE_PURCHASE = "large_purchase", "Large purchase"

    class Status(models.TextChoices):
        PENDING = "pending"
        APPROVED = "approved"
        DECLINED = "declined"
        WITHDRAWN = "withdrawn"

    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="requests")
    kind = models.CharField(max_length=14, choices=Kind.choices)
    amount = models.PositiveBigIntegerField(help_text="Minor units of the order's currency.")
    status = models.CharField(max_length=9, choices=Status.choices, default=Status.PENDING)
    asked_at = models.DateTimeField()
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        ordering: ClassVar = ["id"]
        permissions: ClassVar = [("decide_request", "Can approve and decline requests")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["order", "kind"], name="shop_request_once"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["id"], condition=Q(status="pending"), name="shop_request_pending"),
        ]

    def __str__(self) -> str:
        return self.ident

    @property
    def ident(self) -> str:
        """How people and agents call it: ``req-3``."""
        return f"req-{self.pk}"

    @property
    def amount_text(self) -> str:
        return price_text(self.amount, self.order.currency)


class DeliveryAddress(Owned):
    """Where this agent's orders for this person go."""

    recipient = models.CharField(max_length=100)
    street = models.CharField(max_length=200)
    postcode = models.CharField(max_length=20)
    city = models.CharField(max_length=100)
    country = models.CharField(max_length=2)

    class Meta:
        verbose_name_plural = "delivery addresses"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["subject", "user"], condition=Q(user__isnull=False), name="shop_one_address"
            ),
            models.UniqueConstraint(
                fields=["subject"], condition=Q(user__isnull=True), name="shop_one_address_without_user"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.recipient}\n{self.street}\n{self.postcode} {self.city}\n{self.country}"


class ContactMessage(Owned):
    """A letter to the shop's staff."""

    id = models.CharField(primary_key=True, max_length=25, default=new_message_id)
    topic = models.CharField(max_length=20)
    text = models.TextField()
    reply_to = models.EmailField(blank=True)
    sent_at = models.DateTimeField(db_index=True)

    class Meta:
        ordering: ClassVar = ["-sent_at", "id"]

    def __str__(self) -> str:
        return f"{self.topic}: {self.text[:60]}"


class Review(models.Model):
    """What a person thinks of a product, in one review each."""

    product = models.ForeignKey(Product, on_delete=models.CASCADE, related_name="reviews")
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    stars = models.PositiveSmallIntegerField()
    text = models.CharField(max_length=500, blank=True)
    written_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-written_at", "-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["product", "author"], name="shop_one_review"),
            models.CheckConstraint(condition=Q(stars__gte=1) & Q(stars__lte=5), name="shop_review_stars"),
        ]

    def __str__(self) -> str:
        return f"{self.stars} stars for {self.product_id}"
