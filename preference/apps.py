from django.apps import AppConfig
from django.utils import translation
from django.utils.translation import gettext_lazy as _


class PreferenceConfig(AppConfig):
    name = "preference"
    verbose_name = _("Preference")

    def ready(self) -> None:
        from dialogues.services import deleting
        from dialogues.services.storing import BEFORE_STORE
        from generation.loaded import FOLDERS
        from jobs.registry import register
        from preference.deletion.selectors import count_scores, count_snapshots
        from preference.registry.serving import folder_for_worker
        from preference.topics.services.categories import read_imported_topics
        from preference.training.common import messages
        from projects.roles import Capability

        work = "preference.deletion.services.run_forget_job"
        register(deleting.KIND, work, needs=Capability.MANAGE_MEMBERS)
        work = "preference.deletion.project_deletion.run_deletion_job"
        register("delete_project", work, needs=Capability.MANAGE_MEMBERS, is_stoppable=False)
        deleting.COUNTERS["scores"] = count_scores
        deleting.AFFECTED["snapshots"] = count_snapshots
        BEFORE_STORE.append(read_imported_topics)
        FOLDERS.append(folder_for_worker)
        messages.use_translator(translation)  # recipes are also checked here, in the language of the request
        register("export", "preference.data.formats.job.run_export_job", needs=Capability.EXPORT)
        register("snapshot", "preference.data.formats.snapshot.run_snapshot_job", needs=Capability.EXPORT)
        register("push", "preference.data.formats.hub.run_push_job", needs=Capability.PUBLISH)
        register("training", "preference.runs.job.run_training_job", needs=Capability.TRAIN)
        register("registration", "preference.runs.elsewhere_job.run_registration_job", needs=Capability.TRAIN)
        register("evaluation", "preference.evaluation.job.run_evaluation_job", needs=Capability.TRAIN)
        register("tagging", "preference.topics.job.run_tagging_job", needs=Capability.TRAIN)
        register("scoring", "preference.evaluators.job.run_scoring_job", needs=Capability.TRAIN)
        register(
            "meta_evaluation",
            "preference.evaluators.meta_evaluation_job.run_meta_evaluation_job",
            needs=Capability.TRAIN,
        )
