"""What is worth a second look before a dialogue is handed in."""

from collections.abc import Callable

import pytest

from accounts.models import User
from annotation.authoring.selectors.checks import finish_warnings, warnings_about
from annotation.authoring.services.completion import finish_dialogue
from annotation.tasks.models.work import Assignment, AssignmentState
from common.refusals import Refusal
from dialogues.models import Action

Writes = Callable[..., object]


def codes(assignment: Assignment) -> list[tuple[str, tuple[int, ...]]]:
    return [(warning.code, warning.positions) for warning in finish_warnings(assignment.dialogue)]


def write_all(writes: Writes, assignment: Assignment, *texts: str) -> None:
    for position, text in enumerate(texts):
        writes(assignment, text, position)


def test_a_verbatim_repeat_is_named_and_a_short_answer_may_be_repeated(
    anns_assignment: Assignment, writes: Writes
) -> None:
    write_all(writes, anns_assignment, "My cat sheds all over.", "Yes.", "my cat sheds  all over.", "Yes.")
    assert codes(anns_assignment) == [("repeated", (0, 2))]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["How is it?", "About始 isn't hot.", "I see."], [("mixed_scripts", (1,))]),
        (["春天我家猫掉毛", "用 WiFi 查一下吧", "好的，谢谢你"], []),
        (["春天我家猫掉毛", "Да, это так", "好的，谢谢你的建议"], [("mixed_scripts", (1,))]),
        (["It costs 5 €.", "Café Müller is fine… 👍"], []),
    ],
)
def test_letters_of_another_script_are_named(
    anns_assignment: Assignment, writes: Writes, texts: list[str], expected: list[object]
) -> None:
    write_all(writes, anns_assignment, *texts)
    assert codes(anns_assignment) == expected


def test_a_dialogue_of_nothing_but_candidates_is_noticed() -> None:
    opening = (0, "My cat sheds.", "")
    chosen = [(1, "Brush it.", Action.SELECT.value), (2, "I will.", Action.SELECT.value)]
    assert [warning.code for warning in warnings_about([opening, *chosen])] == ["nothing_of_ones_own"]
    assert warnings_about([opening, *chosen, (3, "Daily?", Action.REVISE.value)]) == []
    assert warnings_about([opening]) == []


def test_the_author_is_asked_once_and_may_finish_all_the_same(
    anns_assignment: Assignment, ann: User, writes: Writes
) -> None:
    for position in range(14):
        writes(anns_assignment, "We have said this before.", position)
    with pytest.raises(Refusal) as refused:
        finish_dialogue(annotator=ann, assignment_id=anns_assignment.pk, check=True)
    assert refused.value.code == "check_first"
    assert len(refused.value.details["warnings"]) == 13
    done = finish_dialogue(annotator=ann, assignment_id=anns_assignment.pk)
    assert done.state == AssignmentState.SUBMITTED
