"""Static files in production: named by their content, so that browsers may keep them for ever."""

from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]


class ModuleManifestStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Also renames what the JavaScript modules import of each other; Django leaves those names alone by default."""

    support_js_module_import_aggregation = True
