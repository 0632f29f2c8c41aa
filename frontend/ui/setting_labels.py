"""Names of settings that say more than those of their fields, for forms and the history."""

from collections.abc import Mapping
from typing import Final

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

SETTING_LABELS: Final[Mapping[str, Promise]] = {
    "daily_goal": gettext_lazy("Daily goal per person"),
    "balance": gettext_lazy("How far one person may be ahead of the others"),
    "min_rounds": gettext_lazy("Minimum rounds"),
    "generate_ahead": gettext_lazy("Generate while the annotator pauses"),
}
