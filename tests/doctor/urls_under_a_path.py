from django.urls import include, path

import agentweb.urls

urlpatterns = [*agentweb.urls.well_known, path("agents/", include("agentweb.urls"))]
