"""`manage.py publish_files`: what is on this host's disk goes into the object store, which begins to be used."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from common.refusals import Refusal
from operations.backup.copying import files_to_copy
from operations.backup.places import Place, places
from operations.lines import FileCounter


class Command(BaseCommand):
    help = (
        "Copy FILES_ROOT and MODELS_ROOT of this host into the object store of STORAGE_URL. Stop web servers and "
        "workers first. The files stay here. Safe to repeat: what the store has with as many bytes is left out."
    )
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.STORAGE:
            raise CommandError(
                "STORAGE_URL is empty, so there is no object store. Set it, and run this again."
            )
        counter = FileCounter(self.stdout.write, "Published")
        try:
            for place in places(with_models=True):
                publish(place, counter)
        except Refusal as refusal:
            raise CommandError(f"{refusal} Then run this again: it continues where it stopped.") from refusal
        self.stdout.write(counter.text())


def publish(place: Place, counter: FileCounter) -> None:
    stored = {each.path: each.bytes for each in place.files.stored_in(place.root)}
    for path in files_to_copy(place.root):
        size = path.stat().st_size
        if stored.get(path) != size:
            place.files.publish(path)
            counter.add(size)
