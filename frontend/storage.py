"""Static files in production: named by their content, so that browsers may keep them for ever."""

from whitenoise.storage import CompressedManifestStaticFilesStorage  # type: ignore[import-untyped]


class ModuleManifestStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Also renames what our JavaScript modules import of each other; Django leaves those names alone by default.

    Only in js/: what other packages ship need not resolve.
    """

    support_js_module_import_aggregation = True
    _js_module_import_aggregation_patterns = (
        "js/*.js",
        CompressedManifestStaticFilesStorage._js_module_import_aggregation_patterns[1],
    )
