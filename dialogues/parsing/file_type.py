"""What a file is if it is not UTF-8 text, told from its first bytes."""

from dialogues.parsing.compressed import ZIP
from dialogues.parsing.row_errors import RowError

HEAD_BYTES = 4096
# First bytes of files that are not UTF-8 text: the code of the error and the name; longer signatures first.
SIGNATURES = {
    b"\xff\xfe\x00\x00": ("wrong_encoding", "UTF-32"),
    b"\x00\x00\xfe\xff": ("wrong_encoding", "UTF-32"),
    b"\xff\xfe": ("wrong_encoding", "UTF-16"),
    b"\xfe\xff": ("wrong_encoding", "UTF-16"),
    b"\x89PNG\r\n\x1a\n": ("picture", "PNG"),
    b"\xff\xd8\xff": ("picture", "JPEG"),
    b"GIF8": ("picture", "GIF"),
    b"%PDF-": ("document", "PDF"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": ("old_office", "Office"),
    ZIP: ("not_text", "ZIP / Excel"),
    b"\x1f\x8b": ("not_text", "gzip"),
    b"BZh": ("not_text", "bzip2"),
    b"\xfd7zXZ\x00": ("not_text", "xz"),
    b"\x28\xb5\x2f\xfd": ("not_text", "zstd"),
    b"7z\xbc\xaf\x27\x1c": ("not_text", "7z"),
    b"Rar!\x1a\x07": ("not_text", "RAR"),
    b"PAR1": ("not_text", "Parquet"),
    b"SQLite format 3\x00": ("not_text", "SQLite"),
}
CONTROL_BYTES = bytes(set(range(0x20)) - set(b"\t\n\r\f\x1b"))
BINARY_SHARE = 0.02  # of control bytes in a file that is not UTF-8


def detect_other_type(head: bytes) -> RowError | None:
    """A fatal error if these first bytes belong to another encoding or to a file that is not text."""
    for signature, (code, what) in SIGNATURES.items():
        if head.startswith(signature):
            return RowError(1, code, {"what": what}, fatal=True)
    if _is_utf16(head):
        return RowError(1, "wrong_encoding", {"what": "UTF-16"}, fatal=True)
    if _is_binary(head):
        return RowError(1, "binary", fatal=True)
    return None


def _is_utf16(head: bytes) -> bool:
    """Whether every other byte is NUL, as in Latin text without a byte order mark."""
    return len(head) >= 8 and any(not any(head[start::2]) and all(head[1 - start :: 2]) for start in (0, 1))


def _is_binary(head: bytes) -> bool:
    controls = len(head) - len(head.translate(None, CONTROL_BYTES))
    return controls > len(head) * BINARY_SHARE and not _is_utf8(head)


def _is_utf8(head: bytes) -> bool:
    """Whether the bytes are UTF-8; the head may cut the last character."""
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True
