"""Django forms as the input of actions.

The published schema says what a form takes, as far as a schema can; the form itself, with its ``clean`` methods and
the unique checks of its model, has the last word on every call. The form class is never changed, and making the
schema needs no request and no query.
"""

from agentweb.catalog.forms.saving import SAVE_HINT, Submit, output_of, submit_handler
from agentweb.catalog.forms.sources import FORM_HINT, description_of, form_source

__all__ = ["FORM_HINT", "SAVE_HINT", "Submit", "description_of", "form_source", "output_of", "submit_handler"]
