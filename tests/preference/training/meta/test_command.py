"""Meta-evaluation of a file from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from preference.training.meta.command import main
from tests.preference.training.meta.conftest import HUMAN, row, write_rows

Report = dict[str, Any]
Runs = Callable[..., Report]


@pytest.fixture
def runs(capsys: pytest.CaptureFixture[str]) -> Runs:
    """runs(data, "--evaluators", "length") is the report as JSON."""

    def run(data: Path, *arguments: str) -> Report:
        assert main(["--data", str(data), "--json", "--replicates", "200", *arguments]) == 0
        report: Report = json.loads(capsys.readouterr().out)
        return report

    return run


def fails(capsys: pytest.CaptureFixture[str], data: Path, *arguments: str) -> tuple[str, str]:
    assert main(["--data", str(data), *arguments]) == 1
    cause, remedy = capsys.readouterr().err.splitlines()[-2:]
    return cause, remedy


def test_correlations_computed_by_hand(data: Path, runs: Runs) -> None:
    report = runs(data, "--evaluators", "length=words")
    (words,) = report["evaluators"]
    assert words["pearson"]["value"] == pytest.approx(0.8)
    assert words["spearman"]["value"] == pytest.approx(0.8)
    assert words["kendall"]["value"] == pytest.approx(0.6)
    assert words["pearson"]["low"] < 0.8 < words["pearson"]["high"] <= 1
    assert (words["n_scored"], words["n_unscored"]) == (5, 0)
    assert (report["n_rows"], report["n_judged"], report["n_histories"]) == (5, 5, 5)
    assert report["differences"] == []


def test_scores_of_files_and_evaluators_in_one_ranking(data: Path, runs: Runs, tmp_path: Path) -> None:
    good = [{"id": str(number), "score": HUMAN[number]} for number in range(4)]
    poor = [{"id": number, "score": -HUMAN[number]} for number in range(5)]
    files = [write_rows(tmp_path / "good.jsonl", good), write_rows(tmp_path / "poor.jsonl", poor)]
    report = runs(data, "--evaluators", "length=words", "--scores", f"good={files[0]}", f"poor={files[1]}")
    assert report["ranking"] == ["good", "length", "poor"]
    by_name = {figures["name"]: figures for figures in report["evaluators"]}
    assert by_name["good"]["n_unscored"] == 1
    assert by_name["good"]["reasons"] == {"The file of scores lacks the row.": 1}
    (difference,) = [
        each
        for each in report["differences"]
        if (each["measure"], each["one"], each["other"]) == ("pearson", "good", "poor")
    ]
    assert difference["difference"]["value"] == pytest.approx(2)
    assert difference["difference"]["n"] == 4
    assert difference["p"] < 0.05
    assert difference["p"] <= difference["p_adjusted"]


def test_rows_that_cannot_be_scored_are_counted_with_their_reasons(runs: Runs, tmp_path: Path) -> None:
    rows = [row(0, response=""), *(row(number) for number in range(1, 5))]
    report = runs(write_rows(tmp_path / "rows.jsonl", rows), "--evaluators", "length", "chrf")
    length, chrf = report["evaluators"]
    assert length["reasons"] == {"The response is empty.": 1}
    assert chrf["n_scored"] == 0
    assert chrf["reasons"] == {"The row has no reference.": 4, "The response is empty.": 1}
    assert chrf["pearson"] == {"value": None, "low": None, "high": None, "n": 0}
    assert report["ranking"][-1] == "chrf"
    assert "chrf scored no reply." in report["notes"]
    assert report["differences"][0]["p"] is None


def test_equal_human_scores_correlate_with_nothing(runs: Runs, tmp_path: Path) -> None:
    rows = [row(number, human=3, humans=[3, 3, 3]) for number in range(5)]
    report = runs(write_rows(tmp_path / "rows.jsonl", rows), "--evaluators", "length", "random")
    for figures in report["evaluators"]:
        assert [figures[name]["value"] for name in ("pearson", "spearman", "kendall")] == [None] * 3
    assert all(each["difference"]["value"] is None for each in report["differences"])
    assert report["people"]["pearson"]["mean"]["value"] is None
    assert "All human scores are equal" in report["notes"][0]


def test_people_beside_machines(runs: Runs, tmp_path: Path) -> None:
    humans = [[1, 2, 1], [2, 2, 3], [3, 5, 4], [4, 4, 5], [5, 3, None]]
    rows = [row(number, human=None, humans=humans[number]) for number in range(5)]
    report = runs(write_rows(tmp_path / "rows.jsonl", rows), "--evaluators", "length=words")
    found = report["people"]["pearson"]
    others = [1.5, 2.5, 4.5, 4.5, 3.0]
    assert found["by_person"]["1"]["value"] == pytest.approx(stats.pearsonr([1, 2, 3, 4, 5], others)[0])
    assert found["by_person"]["3"]["n"] == 4
    machine = found["evaluators"]["length"]
    assert machine["value_of_other"] == pytest.approx(found["mean"]["value"])
    assert machine["difference"]["value"] == pytest.approx(
        machine["value_of_one"] - machine["value_of_other"]
    )
    means = [4 / 3, 7 / 3, 4, 13 / 3, 4]
    (words,) = report["evaluators"]
    assert words["pearson"]["value"] == pytest.approx(stats.pearsonr(range(5), means)[0])


def test_categories(runs: Runs, tmp_path: Path) -> None:
    gold = [["good", "good"], ["bad", "bad"], ["good", "good"], ["bad", "good"], ["bad", "bad"]]
    rows = [row(number, labels={"ann": gold[number][0], "bob": gold[number][1]}) for number in range(5)]
    labels = ["good", "bad", "bad", "bad", "good"]
    scores = [{"id": str(n), "score": n, "label": label} for n, label in enumerate(labels)]
    file = write_rows(tmp_path / "judge.jsonl", scores)
    report = runs(write_rows(tmp_path / "rows.jsonl", rows), "--scores", f"judge={file}")
    found = report["evaluators"][0]["labels"]
    assert found["n"] == 4  # ann and bob are of two minds about one
    assert found["classes"] == ["bad", "good"]
    assert found["confusion"] == [[1, 1], [1, 1]]
    assert found["kappa"]["value"] == pytest.approx(0)
    assert found["errors"][0]["false_positives"] == 1
    people = report["people_labels"]
    assert people["percent"]["value"] == pytest.approx(0.8)
    assert people["mean_kappa"] == pytest.approx((0.8 - 0.48) / 0.52)
    assert people["evaluators"]["judge"] is not None


def test_systems(runs: Runs, tmp_path: Path) -> None:
    rows = [row(number, system="ABCDE"[number]) for number in range(5)]
    report = runs(write_rows(tmp_path / "rows.jsonl", rows), "--evaluators", "length=words")
    systems = report["evaluators"][0]["systems"]
    assert systems["spearman"]["value"] == pytest.approx(0.8)
    assert systems["means"][0] == {"system": "A", "score": 1, "human": 2, "n": 1}


def test_position_bias_and_number_of_comparisons(runs: Runs, data: Path, tmp_path: Path) -> None:
    """The first example ranks as people do, the second the other way round; shown first is worth 0.1 more."""
    scores = []
    for number, human in enumerate(HUMAN):
        orders = [[human / 10 + 0.1, human / 10], [0.6 - human / 10, 0.5 - human / 10]]
        scores.append({"id": str(number), "score": 0.5, "orders": orders})
    file = write_rows(tmp_path / "pairs.jsonl", scores)
    found = runs(data, "--scores", f"pairs={file}")["evaluators"][0]["comparisons"]
    assert found["position_bias"]["value"] == pytest.approx(0.1)
    assert found["mean_gap"] == pytest.approx(0.1)
    one, two = found["examples"]
    assert (one["k"], one["subsets"], two["subsets"]) == (1, 2, 1)
    assert (one["pearson"]["low"], one["pearson"]["high"]) == pytest.approx((-1, 1))


def test_spoiled_replies_should_score_less(runs: Runs, tmp_path: Path) -> None:
    """Overlap with the history would notice nothing; here a longer last utterance beats every reply in length."""
    rows = [row(number, history=["Hello!", "Well, how are you today?"]) for number in range(5)]
    rows[4]["history"] = ["Another one"]
    report = runs(write_rows(tmp_path / "rows.jsonl", rows), "--evaluators", "length=words", "--probes")
    found = report["probes"]["length"]
    assert found["repeated"]["noticed"]["value"] == pytest.approx(
        1 / 3
    )  # only the longest is longer than its echo
    assert found["swapped_speakers"]["noticed"]["value"] == 0
    assert found["swapped_speakers"]["drop"]["value"] == 0
    assert found["swapped_speakers"]["noticed"]["n"] == 2
    assert found["other_dialogue"]["noticed"]["n"] == 3


def test_the_output_folder_has_report_scores_and_plots(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "report"
    write_rows(data, [row(number, humans=[HUMAN[number], number]) for number in range(5)])
    arguments = [
        "--data",
        str(data),
        "--evaluators",
        "length,name=long <b>",
        "random",
        "--output",
        str(output),
    ]
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "correlation with people" in shown
    assert {path.name for path in output.iterdir()} == {
        "report.json", "report.html", "long__b_.jsonl", "long__b_.jsonl.run.json", "long__b_.svg",
        "random.jsonl", "random.jsonl.run.json", "random.svg",
    }  # fmt: skip
    page = (output / "report.html").read_text()
    assert "<svg" in page
    assert "long &lt;b&gt;, minus a person" in page
    assert "<b>" not in page
    assert (output / "random.svg").read_text().count("<circle") == 5
    first = (output / "report.json").read_text()
    assert main(arguments) == 0
    assert (output / "report.json").read_text() == first


def test_scores_of_other_data_are_not_mixed(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = ["--evaluators", "length", "--output", str(tmp_path / "report")]
    assert main(["--data", str(data), *output]) == 0
    other = write_rows(tmp_path / "other.jsonl", [row(number, response="x") for number in range(5)])
    cause, _remedy = fails(capsys, other, *output)
    assert "for other data" in cause


def test_another_column_can_be_the_human_score(runs: Runs, tmp_path: Path) -> None:
    rows = [row(number, human=1, aspects={"fluent": HUMAN[number]}) for number in range(5)]
    data = write_rows(tmp_path / "rows.jsonl", rows)
    report = runs(data, "--evaluators", "length=words", "--human", "aspects.fluent")
    assert report["evaluators"][0]["pearson"]["value"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"humans": "good"}, "`humans` must hold numbers"),
        ({"humans": [1, "2"]}, "`humans` must hold numbers"),
        ({"label": 1.5}, "`label` must be text or a whole number"),
        ({"labels": [True]}, "`labels` must hold texts"),
        ({"system": 3}, "`system` must be text"),
        ({"human": float("nan")}, "`human` must be a number"),
    ],
)
def test_wrong_columns_are_reported_with_their_line(
    columns: dict[str, Any], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = write_rows(tmp_path / "rows.jsonl", [row(0), row(1, **columns)])
    cause, _remedy = fails(capsys, data, "--evaluators", "length")
    assert message in cause
    assert "line 2" in cause


def test_wrong_arguments(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    unjudged = write_rows(tmp_path / "unjudged.jsonl", [row(0, human=None)])
    other = write_rows(tmp_path / "other.jsonl", [{"id": "99", "score": 1}])
    broken = write_rows(tmp_path / "broken.jsonl", [{"id": "1", "score": float("nan")}])
    for arguments, message in (
        ((data,), "No evaluator is named"),
        ((unjudged, "--evaluators", "length"), "human score"),
        ((data, "--scores", str(other)), "does not name"),
        ((data, "--scores", f"x={other}"), "no score for any"),
        ((data, "--scores", f"x={broken}"), "must be a number or null"),
        ((data, "--evaluators", "length", "--scores", f"length={other}"), "called length"),
    ):
        cause, remedy = fails(capsys, *arguments)
        assert message in cause
        assert remedy
