"""The admin of the rows of authority. ``agentweb/admin.py`` registers it; nothing else imports it.

Only a site that has ``django.contrib.admin`` loads these modules.
"""
