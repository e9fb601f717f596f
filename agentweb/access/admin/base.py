"""What all pages of agents in the admin share: nothing is edited, nothing is deleted, large tables stay cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, cast

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import BigIntegerField, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.functional import cached_property
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from agentweb.wire.visible import visible

if TYPE_CHECKING:
    Rows = QuerySet[Any]
    _ModelAdmin = admin.ModelAdmin[Any]
    _Paginator = Paginator[Any]
else:
    Rows = QuerySet
    _ModelAdmin = admin.ModelAdmin
    _Paginator = Paginator


class ReadOnlyAdmin(_ModelAdmin):
    """Rows are looked at. What may be done with them are decisions (``decisions``), never edits or deletions."""

    list_per_page = 100
    list_max_show_all = 500
    show_full_result_count = False
    actions_on_bottom = False
    add_label: Any = ""
    """What the button to the form is called, where there is one: nothing is just added here."""

    class Media:
        css: ClassVar = {"all": ["agentweb/admin.css"]}

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self.fields or ()

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        # No row has NUL in its key, and PostgreSQL takes the question for an error.
        return None if "\0" in object_id else super().get_object(request, object_id, from_field)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        sent = (*request.GET.lists(), *request.POST.lists())
        if any("\0" in value for _name, values in sent for value in values):
            return HttpResponseRedirect(request.path)
        return super().changelist_view(request, extra_context)

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        """By the list's own filters only. Django lets a query string look into every column of the table, and whoever
        may ask whether a hidden column begins with a letter can read it letter by letter."""
        allowed = set()
        for each in self.get_list_filter(request):
            if isinstance(each, str):
                allowed |= {each, f"{each}__exact"}
            else:
                allowed.add(str(getattr(each, "parameter_name", "")))
        return lookup in allowed

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Never for a row by itself. A person who is deleted takes their rows along, and Django asks about each:
        without this exception a person with a grant could not be deleted in the admin at all."""
        match = request.resolver_match
        if obj is None or match is None or (match.url_name or "").startswith(f"{self.opts.app_label}_"):
            return False
        return super().has_delete_permission(request, obj)


class BoundedPaginator(_Paginator):
    """Counts to ``MOST`` and no further, so that no page costs a look at millions of rows."""

    MOST: Final = 2_000

    @cached_property
    def count(self) -> int:
        rows = cast(Rows, self.object_list)
        return int(rows.order_by()[: self.MOST].count())


class ChosenFilter(admin.SimpleListFilter):
    """A filter without a list of everything to choose from: links in the rows set it, and it can be cleared."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        self.model_admin, self.request = model_admin, request
        value = str(self.used_parameters.get(str(self.parameter_name)) or "")
        return [(value, self.name_of(value))] if value else []

    def name_of(self, value: str) -> str:
        """What the chosen value is called."""
        return visible(value)[:60]

    def narrowed(self, rows: Rows, value: str) -> Rows:
        """ValueError or ValidationError for a value that cannot be."""
        raise NotImplementedError

    def queryset(self, request: HttpRequest, queryset: Rows) -> Rows:
        value = self.value()
        if value is None:
            return queryset
        try:
            return self.narrowed(queryset, value)
        except (ValueError, ValidationError, OverflowError) as error:
            raise IncorrectLookupParameters(error) from error


def number_of(value: str) -> int:
    """The primary key that a query string names. ValueError for what no key can be: of a number that is longer than
    theirs databases make an error."""
    number = int(value)
    if not 0 <= number <= BigIntegerField.MAX_BIGINT:
        raise ValueError(value)
    return number


class OlderFilter(ChosenFilter):
    """Goes on behind what the paginator counts: ``?before=<pk>``."""

    title = _("place in the log")
    parameter_name = "before"

    def name_of(self, value: str) -> str:
        return gettext("Older than %s") % super().name_of(value)

    def narrowed(self, rows: Rows, value: str) -> Rows:
        older: Rows = self.model_admin.older_than(rows, value)
        return older


class LogChangeList(ChangeList):
    """A list that says where its older rows begin when there are more than it counts."""

    older = ""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows = list(self.result_list)
        self.result_list = rows
        if rows and self.result_count >= BoundedPaginator.MOST:
            self.older = self.get_query_string({"before": rows[-1].pk}, ["p"])


class LogAdmin(ReadOnlyAdmin):
    """A table that may have millions of rows: newest first, no sorting, no full count."""

    paginator = BoundedPaginator
    sortable_by = ()
    list_max_show_all = 0
    show_facets = admin.ShowFacets.NEVER
    ordering: ClassVar[Any] = ("-pk",)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return LogChangeList

    def older_than(self, rows: Rows, pk: str) -> Rows:
        """The rows behind this one in the list's order; ValueError for what is no key."""
        return rows.filter(pk__lt=number_of(pk))


def render(
    request: Any, model_admin: Any, template: str, *, title: Any, media: Any = None, **context: Any
) -> HttpResponse:
    """A page of our own in the frame of this admin's pages."""
    request.current_app = model_admin.admin_site.name
    return TemplateResponse(
        request,
        template,
        {
            **model_admin.admin_site.each_context(request),
            "opts": model_admin.opts,
            "title": title,
            # What the way back to the list is made of.
            "original": title,
            "has_view_permission": model_admin.has_view_permission(request),
            "media": model_admin.media if media is None else media,
            **context,
        },
    )
