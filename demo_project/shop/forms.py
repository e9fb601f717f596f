"""What people send from the shop's pages. Rules of carts and orders are not here: those are everybody's."""

from __future__ import annotations

from django import forms

from demo_project.shop.models import MAX_LINE, Currency


class LineForm(forms.Form):
    """So many of a product."""

    product = forms.SlugField(max_length=60)
    quantity = forms.IntegerField(min_value=0, max_value=MAX_LINE)


class OrderForm(forms.Form):
    """This cart, at the total that the person saw."""

    cart = forms.CharField(max_length=25)
    currency = forms.ChoiceField(choices=Currency.choices)
    price = forms.DecimalField(max_digits=14, decimal_places=2)


class DecisionForm(forms.Form):
    """What the staff say to a request."""

    request = forms.CharField(max_length=30)
    decision = forms.ChoiceField(choices=[("approve", "Approve"), ("decline", "Decline")])
