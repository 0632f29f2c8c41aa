"""How dialogues are divided into batches."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CutPreview:
    """What a cut would make. batches: of the full size. rest: dialogues of a last, smaller batch. left: in no batch."""

    batches: int
    rest: int
    left: int


def preview_cut(unbatched: int, size: int, *, with_rest: bool) -> CutPreview:
    batches, over = divmod(unbatched, size)
    return CutPreview(batches, over if with_rest else 0, 0 if with_rest else over)
