"""Which modules a page has fetched at once."""

import re

import pytest
from django.contrib.staticfiles import finders

from frontend.script_modules import STATIC, STATIC_IMPORT, loaded_on_need, preloaded

ENTRIES = ["js/authoring/workbench.js", "js/labelling/workbench.js", "js/batch_review/sample_review.js"]


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_module_of_a_page_exists(entry: str) -> None:
    for name in [entry, *preloaded(entry), *loaded_on_need(entry)]:
        assert finders.find(name), name


def test_imports_are_followed_through_other_modules() -> None:
    modules = preloaded("js/labelling/workbench.js")
    assert "js/labelling/questions/slot_view.js" in modules
    assert "js/labelling/leaving_dialogs.js" not in modules
    assert "js/labelling/leaving_dialogs.js" in loaded_on_need("js/labelling/workbench.js")
    assert "js/shared/toast.js" in modules  # needed first without a network, perhaps


def test_no_import_is_overlooked() -> None:
    for script in (STATIC / "js").rglob("*.js"):
        code = re.sub(r"/\*.*?\*/", "", script.read_text(), flags=re.DOTALL)
        assert len(re.findall(r'(?: from|^import) "\.', code, re.MULTILINE)) == len(
            STATIC_IMPORT.findall(code)
        ), script
