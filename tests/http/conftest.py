from tests.support.web_fixtures import many_callers, shop, site_key

__all__ = ["many_callers", "shop", "site_key"]
