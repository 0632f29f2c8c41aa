from django.apps import AppConfig
from django.utils import translation
from django.utils.translation import gettext_lazy as _


class PreferenceConfig(AppConfig):
    name = "preference"
    verbose_name = _("Preference")

    def ready(self) -> None:
        from jobs.registry import register
        from preference.training.common import messages
        from projects.roles import Capability

        messages.use_translator(translation)  # recipes are also checked here, in the language of the request
        register("export", "preference.data.formats.job.carry_out_export", needs=Capability.EXPORT)
        register("snapshot", "preference.data.formats.snapshot.carry_out_snapshot", needs=Capability.EXPORT)
        register("push", "preference.data.formats.hub.carry_out_push", needs=Capability.EXPORT)
        register("training", "preference.runs.job.carry_out_training", needs=Capability.TRAIN)
        register("evaluation", "preference.evaluation.job.carry_out_evaluation", needs=Capability.TRAIN)
