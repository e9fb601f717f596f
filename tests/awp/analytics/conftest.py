from tests.support.web_fixtures import catalog, many_callers, shop

__all__ = ["catalog", "many_callers", "shop"]
