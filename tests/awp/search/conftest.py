"""The test site of the content, for what a run leaves to be found."""

from tests.awp.content.conftest import site

__all__ = ["site"]
