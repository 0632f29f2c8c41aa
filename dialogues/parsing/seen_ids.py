"""The ids that a file has used so far, in 11 to 32 bytes each; a set of strings would need about a hundred."""

from array import array
from hashlib import blake2b

SLOTS = 1 << 12


class SeenIds:
    """Hash set of 64-bit digests, open addressing. Two ids of a million share a digest with probability 3e-8."""

    def __init__(self) -> None:
        self._slots = array("Q", bytes(8 * SLOTS))
        self._used = 0

    def add(self, name: str) -> bool:
        """Remember the id; False if it was already there."""
        if self._used * 4 > len(self._slots) * 3:
            self._grow()
        digest = int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big") or 1
        new = self._put(digest)
        self._used += new
        return new

    def _put(self, digest: int) -> bool:
        mask = len(self._slots) - 1
        slot = digest & mask
        while stored := self._slots[slot]:
            if stored == digest:
                return False
            slot = (slot + 1) & mask
        self._slots[slot] = digest
        return True

    def _grow(self) -> None:
        old, self._slots = self._slots, array("Q", bytes(16 * len(self._slots)))
        for digest in old:
            if digest:
                self._put(digest)
