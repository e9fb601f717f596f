from tests.aim.conftest import easy_work
from tests.support.web_fixtures import catalog, many_callers, shop

__all__ = ["catalog", "easy_work", "many_callers", "shop"]
