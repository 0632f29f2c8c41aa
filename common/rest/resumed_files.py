"""Files that a program can go on downloading after a lost connection: `Range: bytes=N-` (RFC 9110, section 14)."""

import re
from http import HTTPStatus
from pathlib import Path
from typing import Final

from django.http import FileResponse, HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse
from rest_framework.request import Request

from common.refusals import Refusal
from common.storage.shared_files import Opened, SharedFiles, shared_files

OPEN_RANGE = re.compile(r"bytes=(\d{1,18})-")
BLOCK: Final = 64 * 1024  # bytes; each is a call of the web server
RANGE: Final = OpenApiParameter(
    "Range",
    OpenApiTypes.STR,
    OpenApiParameter.HEADER,
    description="`bytes=N-`: the rest from byte N (206). With `If-Range: ETag`, all of a file that changed.",
)
SIGNED: Final = OpenApiResponse(
    description="`Location` is an address of the object store that works without a token, for some minutes. Only where "
    "the operator chose signed downloads."
)


def begins_at(request: Request | HttpRequest, tag: str) -> int:
    """The byte from which the rest is wanted; 0 for the whole file, also if it is not the one that `If-Range` names."""
    wanted = OPEN_RANGE.fullmatch(request.headers.get("Range", ""))
    known = request.headers.get("If-Range", tag)
    return int(wanted[1]) if wanted and known == tag else 0


def resumable_file(
    request: Request | HttpRequest,
    path: Path,
    *,
    content_type: str,
    sha256: str = "",
    name: str = "",
    files: SharedFiles | None = None,
) -> HttpResponseBase:
    """The file, or its rest; a redirect (302) to the object store where the operator chose signed downloads.

    sha256: of its content, if it is known; otherwise the storage tells versions apart. name: under which it is saved.
    files: the storage that the path is in; None for shared_files(). Raises Refusal wrong_range (416) from its end
    on, file_gone (410), and what SharedFiles raises.
    """
    files = files or shared_files()
    if address := files.signed_url(path, content_type=content_type, name=name):
        return HttpResponseRedirect(address, headers={"Cache-Control": "no-store"})
    begin = begins_at(request, f'"{sha256}"') if sha256 else 0
    opened = _open(files, path, begin)
    tag = f'"{sha256 or opened.tag}"'
    if not sha256 and (begin := begins_at(request, tag)):
        opened.file.close()
        opened = _open(files, path, begin)
    response = FileResponse(
        opened.file, as_attachment=True, filename=name or path.name, content_type=content_type
    )
    response.block_size = BLOCK
    response["Content-Length"] = opened.size - begin
    response["Accept-Ranges"], response["ETag"] = "bytes", tag
    if "Range" in request.headers:
        response["Content-Encoding"] = "identity"  # compressed on the way, its bytes would be others
    if begin:
        response.status_code = HTTPStatus.PARTIAL_CONTENT
        response["Content-Range"] = f"bytes {begin}-{opened.size - 1}/{opened.size}"
    return response


def _open(files: SharedFiles, path: Path, begin: int) -> Opened:
    try:
        try:
            return files.open_from(path, begin)
        except EOFError:
            whole = files.open_from(path)
            whole.file.close()
            raise _wrong_range(whole.size) from None
    except FileNotFoundError:
        raise Refusal(
            "file_gone", _("This file was removed from the server."), status=HTTPStatus.GONE
        ) from None


def is_resumed(response: HttpResponseBase) -> bool:
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
