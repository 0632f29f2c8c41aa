"""What leaves: exported files, frozen data sets."""

from preference.models.exports import Export, FileType, Shape
from preference.models.snapshots import Snapshot

__all__ = ["Export", "FileType", "Shape", "Snapshot"]
