"""z-scores of the released ratings of the reliable-assessment study (its Table 3)."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from measures.raters import z_scores
from measures.ratings import Value, ratings_from_triples

DATA = Path(os.environ.get("LAPIDARY_SHARED_DATA", Path(__file__).parents[3] / "shared" / "data"))
RUN = DATA / "assessment_run1.json"
pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.skipif(not RUN.is_file(), reason="the released ratings are not here"),
]
CRITERIA = ("interesting", "fun", "consistent", "fluent", "topic")
TABLE_3 = [0.534, 0.419, 0.318, 0.262, 0.189, 0.173, -0.087, -0.201, -0.217, -0.243]


def test_the_system_scores_of_table_3() -> None:
    run = json.loads(RUN.read_text())
    degraded, kinds = run["metadata"]["qc-model"], run["metadata"]["score"]
    triples: list[tuple[tuple[str, int, str, str], str, Value]] = []
    groups: dict[str, tuple[list[float], list[float]]] = {}
    for hit in run["data"]:
        for place, talk in enumerate(hit["result"]):
            for name, raw in (talk.get("score") or {}).items():
                value = raw if kinds[name]["positive"] else 100 - raw
                triples.append(((hit["assignment"], place, talk["model"], name), hit["worker"], value))
                if name in CRITERIA:
                    groups.setdefault(hit["worker"], ([], []))[talk["model"] != degraded].append(value)
    passing = {
        worker
        for worker, (low, high) in groups.items()
        if low
        and high
        and len({*low, *high}) > 1
        and mannwhitneyu(low, high, alternative="less").pvalue < 0.05
    }
    assert len(passing) == 173
    scores = z_scores(ratings_from_triples(triples))
    cells: dict[tuple[str, str], list[float]] = {}
    for item, rater, z in zip(scores.item, scores.rater, scores.z, strict=True):
        _, _, model, criterion = scores.items[item]
        if scores.raters[rater] in passing and model != degraded:
            cells.setdefault((model, criterion), []).append(float(z))
    models = {model for model, _ in cells}
    overall = sorted(
        (np.mean([np.mean(cells[model, name]) for name in kinds]) for model in models), reverse=True
    )
    assert np.round(overall, 3).tolist() == pytest.approx(TABLE_3, abs=1e-9)
