"""What a refusal of the shop says to a person. Its own words are for an agent, which knows names of actions."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest

from agentweb import AgentError

_FOR_PEOPLE: Final = {
    "cart_already_ordered": "That cart has been ordered already. Here is what you have ordered.",
    "cart_empty": "There is nothing in that cart.",
    "cost_mismatch": "Prices have changed: the cart now costs {amount} {currency}. Nothing was ordered. "
    "Please have another look.",
    "order_shipped": "This order has left the shop and can no longer be cancelled. Please write to us.",
    "request_decided": "Somebody has decided that request already: it is {request_status}.",
}


@contextmanager
def one_change(request: HttpRequest) -> Iterator[None]:
    """All of the block or nothing. A refusal becomes a message for the next page; what is not there is a 404."""
    try:
        with transaction.atomic():
            yield
    except AgentError as error:
        if error.status == 404:
            raise Http404(error.message) from None
        messages.error(request, in_words(error))


def in_words(error: AgentError) -> str:
    """The sentence for a person."""
    sentence = _FOR_PEOPLE.get(error.code)
    return error.message if sentence is None else sentence.format(**error.extra)
