#!/usr/bin/env python
"""Commands of the demo site; ``manage.py demo`` plays the whole story."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "demo_project.settings")
    execute_from_command_line(sys.argv)
