from tests.support.web_fixtures import catalog, many_callers, site_key

__all__ = ["catalog", "many_callers", "site_key"]
