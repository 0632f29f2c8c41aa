from django.apps import AppConfig
from django.core.cache import cache
from django.utils.translation import gettext_lazy as _

from generation.backends.addresses import share_notes


class GenerationConfig(AppConfig):
    name = "generation"
    verbose_name = _("Generation")

    def ready(self) -> None:
        share_notes(cache)
