from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class DialoguesConfig(AppConfig):
    name = "dialogues"
    verbose_name = _("Dialogues")

    def ready(self) -> None:
        from jobs.registry import register
        from projects.roles import Capability

        register("import", "dialogues.services.imports.run_import_job", needs=Capability.IMPORT)
        register("undo_import", "dialogues.services.undoing.run_undo_job", needs=Capability.IMPORT)
