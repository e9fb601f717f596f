import os

from django.core.asgi import get_asgi_application

from agentweb.asgi import streams

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.aip.live.settings")
application = streams(get_asgi_application())
