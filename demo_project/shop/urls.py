"""The shop's pages for people."""

from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import path

from demo_project.shop.views import browsing, buying, ordering, panel

urlpatterns = [
    path("", browsing.front, name="front"),
    path("products/<slug:slug>", browsing.product, name="product"),
    path("cart", buying.cart, name="cart"),
    path("cart/add", buying.add, name="cart-add"),
    path("cart/change", buying.change, name="cart-change"),
    path("cart/order", buying.order, name="cart-order"),
    path("orders", ordering.listed, name="orders"),
    path("orders/<slug:order_id>/cancel", ordering.cancel, name="order-cancel"),
    path("orders/<slug:order_id>/receipt", ordering.receipt, name="order-receipt"),
    path("control-panel", panel.panel, name="control-panel"),
    path("control-panel/decide", panel.decide, name="decide"),
    path("login", LoginView.as_view(template_name="shop/login.html"), name="login"),
    path("logout", LogoutView.as_view(), name="logout"),
]
