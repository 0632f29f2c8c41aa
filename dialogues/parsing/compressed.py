"""Files packed with gzip, unpacked while they are read."""

import gzip
import zlib
from typing import BinaryIO, cast

GZIP = b"\x1f\x8b"
ZIP = b"PK\x03\x04"
DAMAGED = (gzip.BadGzipFile, zlib.error)  # EOFError: it breaks off


def unpacked(file: BinaryIO) -> BinaryIO:
    """The file, or its content if it is packed. The readers limit what comes out, whatever goes in."""
    packed = file.read(len(GZIP)) == GZIP
    file.seek(0)
    return cast(BinaryIO, gzip.GzipFile(fileobj=file)) if packed else file


def unpacked_head(head: bytes, size: int) -> bytes:
    """The first bytes of the content of a file, from the first bytes of the file."""
    if not head.startswith(GZIP):
        return head[:size]
    try:
        return zlib.decompressobj(wbits=31).decompress(head, size)
    except zlib.error:
        return head[:size]


def unpacked_name(name: str) -> str:
    """chats.jsonl for chats.jsonl.gz."""
    return name[:-3] if name.lower().endswith(".gz") else name
