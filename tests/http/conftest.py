from tests.support.web_fixtures import many_callers, shop

__all__ = ["many_callers", "shop"]
