"""Agreement between participants who judged the same set of systems (Ji et al., 2022, section 4.1 and Figure 2)."""

import itertools
from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from measures.bootstrap import SEED, Floats, Ints
from measures.rated_dialogues import Bools, RatedDialogues, dialogue_means

LARGEST_GROUP = (
    500  # assignments with the same systems; of a larger group so many are drawn, since pairs grow squarely
)


def pair_correlations(dialogues: RatedDialogues, z: Floats, rows: Bools, *, seed: int = SEED) -> Floats:
    """Pearson's r of every two assignments with the same systems, by different participants; shape (pairs,).

    Correlated are the mean z of their dialogues, the degraded one included, as in the released analysis. z: shape
    (dialogues, statements). rows: which dialogues count, shape (dialogues,). Pairs of which one side does not vary,
    and assignments with fewer than two systems or an unrated one, are left out.
    """
    found = [_correlate(owners, table) for owners, table in _tables(dialogues, z, rows, seed)]
    return np.concatenate(found) if found else np.zeros(0)


def _tables(dialogues: RatedDialogues, z: Floats, rows: Bools, seed: int) -> Iterator[tuple[Ints, Floats]]:
    """For each set of systems: the participants and the values, shapes (assignments,) and (assignments, systems)."""
    means, groups = dialogue_means(z), defaultdict(list)
    chosen = np.flatnonzero(rows)
    chosen = chosen[np.argsort(dialogues.assignment[chosen], kind="stable")]
    for _, members in itertools.groupby(chosen.tolist(), key=lambda row: int(dialogues.assignment[row])):
        by_system: dict[int, list[float]] = defaultdict(list)
        listed = list(members)
        for row in listed:
            by_system[int(dialogues.system[row])].append(float(means[row]))
        systems = tuple(sorted(by_system))
        values = [float(np.mean(by_system[system])) for system in systems]
        if len(systems) > 1 and np.isfinite(values).all():
            groups[systems].append((int(dialogues.participant[listed[0]]), values))
    rng = np.random.default_rng(seed)
    for group in groups.values():
        if len(group) > LARGEST_GROUP:
            group = [group[place] for place in sorted(rng.choice(len(group), LARGEST_GROUP, replace=False))]
        yield np.array([owner for owner, _ in group]), np.array([values for _, values in group])


def _correlate(owners: Ints, table: Floats) -> Floats:
    centred = table - table.mean(axis=1, keepdims=True)
    norms = np.sqrt((centred**2).sum(axis=1))
    varies = table.max(axis=1) > table.min(axis=1)
    centred, norms, owners = centred[varies], norms[varies], owners[varies]
    products = np.clip(centred @ centred.T / np.outer(norms, norms), -1.0, 1.0)
    first, second = np.triu_indices(owners.size, k=1)
    differ = owners[first] != owners[second]
    correlations: Floats = products[first, second][differ]
    return correlations
