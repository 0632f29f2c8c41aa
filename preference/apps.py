from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PreferenceConfig(AppConfig):
    name = "preference"
    verbose_name = _("Preference")
