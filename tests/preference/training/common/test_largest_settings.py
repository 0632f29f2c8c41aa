"""A recipe refuses settings with which a training would never end."""

import pytest

from preference.training.assessor.recipe import AssessorRecipe
from preference.training.common.errors import TrainingError
from preference.training.joint.recipe import JointRecipe
from preference.training.paireval.recipe import PairRecipe


@pytest.mark.parametrize("recipe", [AssessorRecipe, JointRecipe, PairRecipe])
def test_a_billion_epochs_are_refused(recipe: type[AssessorRecipe | JointRecipe | PairRecipe]) -> None:
    with pytest.raises(TrainingError, match="epochs"):
        recipe(epochs=10**9)
    assert recipe(epochs=1000).epochs == 1000
