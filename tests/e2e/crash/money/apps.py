from django.apps import AppConfig

from tests.e2e.crash.money import haste


class ShopConfig(AppConfig):
    name = "tests.e2e.crash.money"
    label = "crashshop"

    def ready(self) -> None:
        haste.begin()
