from django.apps import AppConfig
from django.utils import translation
from django.utils.translation import gettext_lazy as _


class PreferenceConfig(AppConfig):
    name = "preference"
    verbose_name = _("Preference")

    def ready(self) -> None:
        from jobs.registry import register
        from preference.training import words
        from projects.roles import Capability

        words.speak(translation)  # recipes are checked here too, for whoever asks
        register("export", "preference.exports.job.carry_out_export", needs=Capability.EXPORT)
        register("snapshot", "preference.exports.snapshot.carry_out_snapshot", needs=Capability.EXPORT)
        register("push", "preference.exports.hub.carry_out_push", needs=Capability.EXPORT)
        register("training", "preference.runs.training.carry_out_training", needs=Capability.TRAIN)
        register("evaluation", "preference.runs.evaluation.carry_out_evaluation", needs=Capability.TRAIN)
