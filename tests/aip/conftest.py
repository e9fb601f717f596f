from tests.support.web_fixtures import catalog, many_callers, shop, site_key

__all__ = ["catalog", "many_callers", "shop", "site_key"]
