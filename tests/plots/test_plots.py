"""Plots: what each kind draws, and that texts are escaped."""

import re
from xml.etree import ElementTree

import pytest
from django.template import Context, Template

from plots import svg
from plots.columns import draw_columns
from plots.heat_map import draw_confusion
from plots.lines import draw_lines
from plots.marks import Mark
from plots.reliability import Bin, draw_reliability
from plots.rows import MAX_ROWS, draw_estimates, draw_rows, draw_stacked_rows
from plots.scatter import Place, draw_places
from plots.standalone import draw_figure, standalone_svg
from plots.steps import Found, Limit, Step, draw_steps


def test_a_line_breaks_where_nobody_wrote() -> None:
    def mark(value: float) -> Mark:
        return Mark(value, "n = 1", (value - 1, value + 1))

    drawn = draw_lines(["1", "2", "3"], [[mark(10), None, mark(20)]], x="day", y="%", description="Course")
    assert drawn.count('class="curve c1"') == 2 * len(svg.WIDTHS)


def test_a_line_of_rare_points_goes_on_between_them() -> None:
    marks = [None, Mark(10, "a"), None, None, Mark(20, "b"), None]
    drawn = draw_lines(list("123456"), [marks], x="step", y="nats", description="Loss", bridges_gaps=True)
    assert drawn.count('class="curve c1"') == len(svg.WIDTHS)
    assert drawn.count("<circle") == 2 * len(svg.WIDTHS)


def test_long_names_are_clipped_but_complete_in_the_tooltip() -> None:
    name = "A very long name of somebody who writes a great deal"
    drawn = draw_rows([name], [[Mark(1, "1 s")]], x="s", description="Pace")
    assert f"<title>{name}</title>" in drawn
    assert "A very…" in drawn or "A very " in drawn
    assert drawn.count(name) == len(svg.WIDTHS)


def test_many_people_are_drawn_up_to_a_limit() -> None:
    names = [f"person {n}" for n in range(60)]
    drawn = draw_stacked_rows(names, [[Mark(1.0, "all")] * 60], x="%", description="Actions")
    assert drawn.count("<rect") == MAX_ROWS * len(svg.WIDTHS)


def test_estimates_below_zero_are_drawn_inside() -> None:
    drawn = draw_estimates(["a", "b"], [Mark(-0.2, "a", (-0.4, 0.1)), None], x="κ", description="κ")
    assert ">-0.4<" in drawn
    assert not re.search(r'(?:x1|x2|cx)="-', drawn)


def test_a_value_that_says_little_is_grey() -> None:
    marks = [Mark(1, "few", is_faint=True), Mark(2, "many")]
    for drawn in (
        draw_estimates(["a", "b"], marks, x="%", description="Shares"),
        draw_lines(["a", "b"], [marks], x="n", y="%", description="Course"),
    ):
        assert drawn.count('<circle class="mark c1 faint"') == len(svg.WIDTHS)
        assert drawn.count('<circle class="mark c1"') == len(svg.WIDTHS)
        assert ".mark.faint{" in standalone_svg(drawn)


def test_a_bar_that_says_little_is_grey() -> None:
    marks = [Mark(1, "few", is_faint=True), Mark(2, "many")]
    for drawn in (
        draw_columns(["a", "b"], marks, x="n", y="%", description="Shares"),
        draw_rows(["a", "b"], [marks], x="%", description="Shares"),
    ):
        assert drawn.count('<rect class="mark c1 faint"') == len(svg.WIDTHS)
        assert drawn.count('<rect class="mark c1"') == len(svg.WIDTHS)


def test_a_stacked_bar_that_says_little_is_pale_and_keeps_its_colours() -> None:
    series = [
        [Mark(0.4, "few", is_faint=True), Mark(0.4, "many")],
        [Mark(0.6, "few", is_faint=True), Mark(0.6, "many")],
    ]
    drawn = draw_stacked_rows(["a", "b"], series, x="%", description="Shares")
    assert drawn.count('<g class="pale"><rect class="mark c1"') == len(svg.WIDTHS)
    assert drawn.count('<rect class="mark c1"') == 2 * len(svg.WIDTHS)
    assert ".pale{" in standalone_svg(drawn)


def test_a_line_without_intervals_has_no_band() -> None:
    drawn = draw_lines(["1", "2"], [[Mark(1, "a"), Mark(2, "b")]], x="n", y="n", description="Course")
    assert 'class="band' not in drawn
    assert 'd="Z"' not in drawn


def test_a_file_holds_the_wide_plot_and_escapes_names() -> None:
    places = [Place(1, -2, "a<b"), Place(5, 7, "c")]
    root = ElementTree.fromstring(
        standalone_svg(draw_places(places, x="people & co", y="<y>", description='"d"'))
    )
    circles = [each for each in root.iter() if each.tag.endswith("circle")]
    assert float(circles[0].attrib["cx"]) < float(circles[1].attrib["cx"])
    assert all(0 < float(each.attrib["cy"]) < 240 for each in circles)
    assert [title.text for each in circles for title in each] == ["a<b 1 · -2", "c 5 · 7"]


def test_templates_insert_a_plot_as_it_is_and_escape_what_it_says() -> None:
    drawn = draw_columns(["<b>"], [Mark(1, "<i>")], x="<x>", y="y", description="Bars")
    html = Template("{{ plot }}").render(Context({"plot": drawn}))
    assert html == str(drawn)
    assert "&lt;b&gt;" in html
    assert "<i>" not in html


def test_cells_of_a_confusion_show_their_counts() -> None:
    drawn = draw_confusion(["bad", "good"], [[3, 1], [0, 0]], x="prediction", description="Confusion")
    assert "<title>bad → good: 1</title>" in drawn
    assert drawn.count('fill-opacity="0.25"') == len(svg.WIDTHS)  # 3 of 4


def test_bars_of_a_calibrated_model_end_at_the_diagonal() -> None:
    drawn = draw_reliability(
        [Bin(0.9, 1.0, 1.0, "n = 4")], x="confidence", y="right", description="Reliability"
    )
    diagonal = re.search(r'class="expected" .*?x2="([\d.]+)" y2="([\d.]+)"', drawn)
    bar = re.search(r'class="mark c1" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"', drawn)
    assert diagonal
    assert bar
    assert float(bar[1]) + float(bar[3]) == pytest.approx(float(diagonal[1]), abs=1)  # a gap between bars
    assert bar[2] == diagonal[2]


def test_a_figure_names_its_series() -> None:
    figure = draw_figure(svg.EMPTY, legend=["f1", "<recall>"])
    assert '<li class="c2">&lt;recall&gt;</li>' in figure


def test_steps_have_an_axis_that_holds_the_limit_and_the_estimate() -> None:
    steps = [Step(count, 100.0 - 50 * count, f"{count}") for count in range(3)]
    drawn = draw_steps(
        steps, Limit(4, "rule"), Found(6, 3, 9, "sample"), x="wrong", y="%", description="Accepted?"
    )
    assert ">10</text>" in drawn
    assert drawn.count('class="mark c1"') == len(steps) * len(svg.WIDTHS)
    path = re.findall(r'class="curve c1" d="(.*?)"', drawn)[0]
    assert path.count("L") == 2 * len(steps) - 1  # a flat piece for each count


def baselines(drawn: str) -> list[float]:
    """Of the words over the wide drawing."""
    return [float(y) for y in re.findall(r'<g class="over"><text x="[\d.]+" y="([\d.]+)"', drawn)][-2:]


def test_words_of_steps_leave_the_curve_free() -> None:
    """A batch of a few labels is accepted for certain up to its limit and beyond: the curve stays at the top."""
    flat = [Step(count, 100.0, f"{count}") for count in range(5)]
    falling = [Step(count, 100.0 - 25 * count, f"{count}") for count in range(5)]

    def rows(steps: list[Step]) -> list[float]:
        limit, found = Limit(1, "rule: at most 1 of 4"), Found(1, 0, 3, "this sample: 1 of 4")
        return baselines(draw_steps(steps, limit, found, x="wrong", y="%", description="Accepted?"))

    assert rows(flat) == [50, 66]  # the curve is at 22
    assert rows(falling)[0] < rows(falling)[1]


@pytest.mark.parametrize("population", [100, 20])
def test_no_line_crosses_words_of_steps(population: int) -> None:
    """As in a batch whose sample has nothing wrong: its line is at 0, and the rule a little right of it."""
    steps = [Step(count, 100.0 * 0.96**count, f"{count}") for count in range(population + 1)]
    limit, found = Limit(15, "rule: at most 1 of 20"), Found(0, 0, 48, "this sample: 0 of 20")
    drawn = draw_steps(steps, limit, found, x="wrong", y="%", description="Accepted?")
    for plot in drawn.split("</svg>")[:-1]:
        rule = float(re.findall(r'class="expected" x1="([\d.]+)"', plot)[0])
        words = re.findall(r'"over"><text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)<', plot)
        assert all(float(x) > rule or float(x) + svg.text_width(name) < rule for x, _y, name in words)
        assert len({y for _x, y, _name in words}) == 2
