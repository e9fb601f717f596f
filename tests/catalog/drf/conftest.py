from tests.support.web_fixtures import catalog

__all__ = ["catalog"]
