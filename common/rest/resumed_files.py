"""Files that a program can go on downloading after a lost connection: `Range: bytes=N-` (RFC 9110, section 14)."""

import re
from http import HTTPStatus
from pathlib import Path
from typing import Final

from django.http import FileResponse
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from common.refusals import Refusal

OPEN_RANGE = re.compile(r"bytes=(\d{1,18})-")
RANGE: Final = OpenApiParameter(
    "Range",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="`bytes=N-`: the rest from byte N (206). With `If-Range: ETag`, all of a file that changed.",
)


def begins_at(request: Request, tag: str) -> int:
    """The byte from which the rest is wanted; 0 for the whole file, also if it is not the one that `If-Range` names."""
    wanted = OPEN_RANGE.fullmatch(request.headers.get("Range", ""))
    known = request.headers.get("If-Range", tag)
    return int(wanted[1]) if wanted and known == tag else 0


def resumable_file(request: Request, path: Path, *, content_type: str, sha256: str = "") -> FileResponse:
    """The file, or its rest. sha256: of its content, if it is known; otherwise size and time tell versions apart.

    Raises Refusal wrong_range (416) for a byte after its end.
    """
    stat = path.stat()
    tag = f'"{sha256 or f"{stat.st_mtime_ns:x}-{stat.st_size:x}"}"'
    begin = begins_at(request, tag)
    if begin > stat.st_size:
        raise _wrong_range(stat.st_size)
    file = path.open("rb")
    file.seek(begin)
    response = FileResponse(file, as_attachment=True, filename=path.name, content_type=content_type)
    response["Accept-Ranges"], response["ETag"] = "bytes", tag
    if "Range" in request.headers:
        response["Content-Encoding"] = "identity"  # compressed on the way, its bytes would be others
    if begin:
        response.status_code = HTTPStatus.PARTIAL_CONTENT
        response["Content-Range"] = f"bytes {begin}-{stat.st_size - 1}/{stat.st_size}"
    return response


def is_resumed(response: FileResponse) -> bool:
    """Whether it is the rest of a download that was counted when it began."""
    return response.status_code == HTTPStatus.PARTIAL_CONTENT


def _wrong_range(size: int) -> Refusal:
    return Refusal(
        "wrong_range",
        _("The file has only %(size)d bytes.") % {"size": size},
        _("Download it again from its beginning."),
        status=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
        details={"size": size},
    )
