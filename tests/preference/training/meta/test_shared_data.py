"""Meta-evaluation on the human scores of the USR study (TopicalChat)."""

import json
import os
from pathlib import Path

import pytest

from preference.training.meta.command import main

DATA = Path(os.environ.get("LAPIDARY_SHARED_DATA", Path(__file__).parents[5] / "shared" / "data"))
REPLIES = DATA / "evaluators" / "usr_topicalchat.jsonl"
pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.skipif(not REPLIES.is_file(), reason="the published scores are not here"),
]


def test_controls_on_replies_of_real_systems(capsys: pytest.CaptureFixture[str]) -> None:
    evaluators = ["length=words", "distinct", "random", "bleu"]
    assert main(["--data", str(REPLIES), "--evaluators", *evaluators, "--json", "--replicates", "200"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["n_rows"], report["n_judged"], report["n_histories"]) == (360, 360, 60)
    by_name = {figures["name"]: figures for figures in report["evaluators"]}
    assert by_name["bleu"]["n_scored"] == 0
    # Longer replies were scored higher: an evaluator has to beat 0.3, not 0.
    assert 0.2 < by_name["length"]["spearman"]["value"] < 0.6
    random = by_name["random"]["spearman"]
    assert random["low"] < 0 < random["high"]
