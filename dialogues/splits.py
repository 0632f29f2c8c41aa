"""Train, validation and test splits: assigned once per dialogue by a hash, so that none leaks into another."""

import hashlib

from dialogues.models import Split

# Shares of the paper's data set, 5,838 / 500 / 500 of 6,838 dialogues (Diamante, Table 1).
VALID_SHARE = TEST_SHARE = 500 / 6838


def split_for(external_id: str) -> Split:
    """The split for this external id; always the same for the same one. Ids of dialogues made here are random."""
    fraction = int.from_bytes(hashlib.sha256(external_id.encode()).digest()[:8], "big") / 2**64
    if fraction < VALID_SHARE:
        return Split.VALID
    return Split.TEST if fraction < VALID_SHARE + TEST_SHARE else Split.TRAIN
