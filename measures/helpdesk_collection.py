"""UCH of a whole collection, and its rank correlation with ratings over L and α (DCH paper, Figures 4 and 5)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from measures.bootstrap import SEED, Floats, Ints
from measures.correlation import Numbers, kendall
from measures.estimate import Estimate
from measures.helpdesk import (
    ALPHA,
    CUSTOMER,
    Nugget,
    Position,
    Utterance,
    check_alpha,
    check_patience,
    consolidate_labels,
    default_patience,
    dialogue_length,
    find_nuggets,
)

MAX_BOOTSTRAP_DIALOGUES = 400  # above, the points of a figure use the delta method's interval


@dataclass(frozen=True, slots=True)
class AnnotatedDialogue:
    """utterances: the side and length of each. labellings: annotator to one label per utterance."""

    id: str
    utterances: Sequence[Utterance]
    labellings: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """uc, uh, uch: shape (labellings,), in the order of Collection.labellings.

    auch, cuch: shape (dialogues,); None for a dialogue without labels.
    """

    patience: float
    alpha: float
    uc: Floats
    uh: Floats
    uch: Floats
    auch: tuple[float | None, ...]
    cuch: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Collection:
    """The nuggets of all labellings, followed by those of the consolidated labels.

    ids, lengths: shape (dialogues,). labellings: (index of the dialogue, annotator). dialogue: that index, shape
    (labellings,). labelled: indices of the dialogues with a labelling, whose consolidated labels count as additional
    labellings. owner, helpdesk, position, gain: labelling, side (1: helpdesk), characters and gain, shape (nuggets,).
    spare_goals: the number of goal nuggets after a side's first, shape (labellings,).
    """

    ids: tuple[str, ...]
    lengths: tuple[int, ...]
    labellings: tuple[tuple[int, str], ...]
    dialogue: Ints
    labelled: Ints
    owner: Ints
    helpdesk: Ints
    position: Floats
    gain: Floats
    spare_goals: Ints

    @property
    def patience(self) -> int:
        """The default L: the longest dialogue in characters."""
        return default_patience(self.lengths)

    def score(self, *, patience: float | None = None, alpha: float = ALPHA) -> Scores:
        """UC, UH, UCH of every labelling, AUCH and CUCH of every dialogue. patience: L; default: longest dialogue."""
        chosen_patience = self.patience if patience is None else patience
        check_patience(chosen_patience)
        check_alpha(alpha)
        sides = self.utilities(chosen_patience)
        combined = (1 - alpha) * sides[0] + alpha * sides[1]
        uc, uh, own = (part[: len(self.labellings)] for part in (*sides, combined))
        merged: list[float | None] = [None] * len(self.ids)
        for place, value in zip(
            self.labelled.tolist(), combined[len(self.labellings) :].tolist(), strict=True
        ):
            merged[place] = value
        means = tuple(None if np.isnan(mean) else float(mean) for mean in self.means(own))
        return Scores(chosen_patience, alpha, uc, uh, own, means, tuple(merged))

    def utilities(self, patience: float) -> Floats:
        """UC and UH, shape (2, labellings + labelled dialogues)."""
        discounted = self.gain * np.maximum(0.0, 1 - self.position / patience)
        width = len(self.labellings) + self.labelled.size
        sums: Floats = np.bincount(
            self.helpdesk * width + self.owner, discounted, minlength=2 * width
        ).astype(np.float64)
        return sums.reshape(2, width)

    def means(self, values: Floats) -> Floats:
        """The mean over the labellings of each dialogue, shape (dialogues,); NaN without labellings."""
        n = np.bincount(self.dialogue, minlength=len(self.ids))
        sums = np.bincount(self.dialogue, values, minlength=len(self.ids))
        means: Floats = np.full(len(self.ids), np.nan)
        np.divide(sums, n, out=means, where=n > 0)
        return means


@dataclass(frozen=True, slots=True)
class SweepPoint:
    """τ between AUCH and mean ratings at one L or α (x)."""

    x: float
    tau: Estimate


def build_collection(dialogues: Iterable[AnnotatedDialogue], position: Position = "start") -> Collection:
    """Find the nuggets of every labelling. Raises ValueError like `find_nuggets`, and names the dialogue."""
    known = list(dialogues)
    labellings = [(i, name) for i, dialogue in enumerate(known) for name in dialogue.labellings]
    labelled = [i for i, dialogue in enumerate(known) if dialogue.labellings]
    sources = [(i, known[i].labellings[name]) for i, name in labellings]
    sources += [(i, _consolidated_labels(known[i])) for i in labelled]
    rows: list[tuple[int, int, float, float]] = []
    spare = np.zeros(len(labellings), np.int64)
    for owner, (i, labels) in enumerate(sources):
        for nugget in _nuggets(known[i], labels, position):
            rows.append((owner, int(nugget.side != CUSTOMER), nugget.position, nugget.gain))
            if nugget.spare and owner < spare.size:
                spare[owner] += 1
    table = np.array(rows, np.float64).reshape(-1, 4)
    return Collection(
        ids=tuple(dialogue.id for dialogue in known),
        lengths=tuple(dialogue_length(dialogue.utterances) for dialogue in known),
        labellings=tuple(labellings),
        dialogue=np.array([i for i, _ in labellings], np.int64),
        labelled=np.array(labelled, np.int64),
        owner=table[:, 0].astype(np.int64),
        helpdesk=table[:, 1].astype(np.int64),
        position=table[:, 2],
        gain=table[:, 3],
        spare_goals=spare,
    )


def _consolidated_labels(dialogue: AnnotatedDialogue) -> tuple[str, ...]:
    try:
        return consolidate_labels(list(dialogue.labellings.values()))
    except ValueError as error:
        raise ValueError(
            f"Dialogue {dialogue.id}: its annotators labelled different numbers of utterances."
        ) from error


def _nuggets(dialogue: AnnotatedDialogue, labels: Sequence[str], position: Position) -> tuple[Nugget, ...]:
    try:
        return find_nuggets(dialogue.utterances, labels, position)
    except ValueError as error:
        raise ValueError(f"Dialogue {dialogue.id}: {error}") from error


def tau_with_ratings(
    scores: Numbers, ratings: Numbers, *, seed: int = SEED, bootstrap_up_to: int = MAX_BOOTSTRAP_DIALOGUES
) -> Estimate:
    """Kendall's τ_b of AUCH or CUCH with mean ratings, both of shape (dialogues,), None if missing (Table 4)."""
    return kendall(scores, ratings, seed=seed, bootstrap_up_to=bootstrap_up_to)


def tau_against_patience(
    collection: Collection,
    ratings: Numbers,
    patiences: Sequence[float],
    *,
    alpha: float = ALPHA,
    seed: int = SEED,
) -> tuple[SweepPoint, ...]:
    """Figure 4: τ of AUCH with the mean ratings, shape (dialogues,), at every L."""
    return tuple(
        SweepPoint(
            patience,
            tau_with_ratings(collection.score(patience=patience, alpha=alpha).auch, ratings, seed=seed),
        )
        for patience in patiences
    )


def tau_against_alpha(
    collection: Collection,
    ratings: Numbers,
    alphas: Sequence[float],
    *,
    patience: float | None = None,
    seed: int = SEED,
) -> tuple[SweepPoint, ...]:
    """Figure 5: τ of AUCH with the mean ratings, shape (dialogues,), at every α."""
    return tuple(
        SweepPoint(
            alpha, tau_with_ratings(collection.score(patience=patience, alpha=alpha).auch, ratings, seed=seed)
        )
        for alpha in alphas
    )
