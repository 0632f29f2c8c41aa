"""The local backend keeps to the scripts that a request allows, with the base of the bilingual demo model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import generation.demo_model
from generation.backends.hf import HFBackend
from generation.protocol import Message, ReplyRequest
from generation.scripts import scripts_in
from tests.generation.talk import texts

MODEL = Path(generation.demo_model.__file__).parent / "base_model"
CHINESE = ReplyRequest("d1", (Message("A", "你今天过得怎么样？"),), "B", 5)


def test_no_letter_of_another_script_is_drawn() -> None:
    backend = HFBackend(str(MODEL), threads=1)
    free, kept = backend.generate([CHINESE, replace(CHINESE, scripts=("LATIN",))])
    assert any("CJK" in scripts_in(text) for text in texts(free))
    assert all(scripts_in(text) <= {"LATIN"} for text in texts(kept))
    assert any("LATIN" in scripts_in(text) for text in texts(kept))
    backend.close()


def test_the_end_of_a_reply_is_never_foreign() -> None:
    backend = HFBackend(str(MODEL), threads=1)
    backend.check()
    loaded = backend._load()
    outside = loaded.foreign.tokens_outside(("LATIN",))
    assert outside is not None
    assert not set(outside.tolist()) & loaded.loaded.ends
    assert loaded.foreign.tokens_outside(()) is None
    backend.close()
