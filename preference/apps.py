from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class PreferenceConfig(AppConfig):
    name = "preference"
    verbose_name = _("Preference")

    def ready(self) -> None:
        from jobs.registry import register
        from preference.exports.hub import carry_out_push
        from preference.exports.job import carry_out_export
        from preference.exports.snapshot import carry_out_snapshot
        from preference.runs.evaluation import carry_out_evaluation
        from preference.runs.training import carry_out_training
        from preference.services import evaluation, exports, snapshots, training
        from projects.roles import Capability

        register(exports.KIND, carry_out_export, needs=Capability.EXPORT)
        register(snapshots.KIND, carry_out_snapshot, needs=Capability.EXPORT)
        register(snapshots.PUSH, carry_out_push, needs=Capability.EXPORT)
        register(training.KIND, carry_out_training, needs=Capability.TRAIN)
        register(evaluation.KIND, carry_out_evaluation, needs=Capability.TRAIN)
