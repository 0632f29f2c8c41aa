"""Static files in production. Their names contain a hash, so browsers may cache them forever."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]

JSDOC = re.compile(r"/\*\*(?:(?!\*/).)*\*/", re.DOTALL)


def without_jsdoc(source: str) -> str:
    """A third of what our modules weigh, compressed, is JSDoc. The lines stay, so stack traces name the right ones.

    Types are imported in JSDoc, also in circles. Django takes those imports for real ones and would name a file by the
    content of another that is named by its own.
    """
    return JSDOC.sub(lambda comment: "\n" * comment[0].count("\n"), source)


class ModuleManifestStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Also renames what our JavaScript modules import of each other; Django leaves those names alone by default.

    Only in js/: what other packages ship need not resolve.
    """

    support_js_module_import_aggregation = True
    max_post_process_passes = 12  # a pass resolves one level of imports
    _js_module_import_aggregation_patterns = (
        "js/*.js",
        CompressedManifestStaticFilesStorage._js_module_import_aggregation_patterns[1],
    )

    def post_process(
        self, paths: dict[str, Any], dry_run: bool = False, **options: Any
    ) -> Iterator[tuple[str, str, bool]]:
        scripts = [name for name in paths if name.startswith("js/") and name.endswith(".js")]
        if dry_run:
            scripts = []
        for name in scripts:
            copy = Path(self.path(name))
            source = copy.read_text(encoding="utf-8")
            copy.unlink()  # with collectstatic --link it is the source itself
            copy.write_text(without_jsdoc(source), encoding="utf-8")
        # Django reads a file where it was found; here that is the copy.
        found = {**paths, **{name: (self, name) for name in scripts}}
        yield from super().post_process(found, dry_run, **options)
