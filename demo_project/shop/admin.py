"""The shop for its staff: products can be changed; carts, orders and letters are mostly for reading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from demo_project.shop.models import Category, ContactMessage, Order, OrderLine, Product, Review, StaffRequest
from demo_project.shop.orders import ship

if TYPE_CHECKING:
    _Admin = admin.ModelAdmin[Any]
    _Inline = admin.TabularInline[Any, Any]
else:  # The classes of Django itself take no parameters.
    _Admin, _Inline = admin.ModelAdmin, admin.TabularInline

admin.site.site_header = "The Corner Shop"
admin.site.site_title = "The Corner Shop"


@admin.register(Category)
class CategoryAdmin(_Admin):
    list_display = ("name", "slug", "position")
    list_editable = ("position",)

    def get_readonly_fields(self, request: HttpRequest, obj: Category | None = None) -> tuple[str, ...]:
        # The slug is the primary key: "changing" it would copy the row.
        return ("slug",) if obj else ()


@admin.register(Product)
class ProductAdmin(_Admin):
    list_display = ("name", "category", "price_text", "stock")
    list_filter = ("category", "currency")
    list_select_related = ("category",)
    search_fields = ("name", "slug", "description")

    def get_readonly_fields(self, request: HttpRequest, obj: Product | None = None) -> tuple[str, ...]:
        # Carts of one currency may hold the product already.
        return ("slug", "currency") if obj else ()


class ReadOnly(_Admin):
    """Rows that agents wrote: staff look, and do not add or edit."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [field.name for field in self.model._meta.fields]


class OrderLineInline(_Inline):
    model = OrderLine
    extra = 0
    can_delete = False
    readonly_fields = ("product", "name", "price", "quantity")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Order)
class OrderAdmin(ReadOnly):
    list_display = ("id", "placed_at", "user", "subject", "total_text", "state")
    list_filter = ("state", "currency")
    list_select_related = ("user",)
    search_fields = ("id", "subject", "receipt")
    date_hierarchy = "placed_at"
    inlines: ClassVar = [OrderLineInline]
    actions = ("mark_shipped",)

    @admin.action(description="Mark as shipped", permissions=["change"])
    def mark_shipped(self, request: HttpRequest, orders: QuerySet[Order]) -> None:
        self.message_user(request, f"{ship(orders)} marked as shipped.")


@admin.register(StaffRequest)
class StaffRequestAdmin(ReadOnly):
    """For reading: decisions are made on the control panel."""

    list_display = ("ident", "kind", "amount_text", "status", "asked_at", "decided_by")
    list_filter = ("status", "kind")
    list_select_related = ("order", "decided_by")


@admin.register(ContactMessage)
class ContactMessageAdmin(ReadOnly):
    list_display = ("sent_at", "topic", "user", "subject", "text")
    list_filter = ("topic",)
    list_select_related = ("user",)
    search_fields = ("text", "subject")
    date_hierarchy = "sent_at"


@admin.register(Review)
class ReviewAdmin(ReadOnly):
    list_display = ("product", "stars", "author", "written_at")
    list_filter = ("stars",)
    list_select_related = ("product", "author")
