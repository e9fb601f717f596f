"""System checks: gathered here from the floors and the rooms."""
