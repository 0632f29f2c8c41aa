from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from common.refusals import NotFound


class UnknownAddressView(APIView):
    """Answers unknown addresses below /api/ with a problem instead of a page. Needs no token: it reveals nothing."""

    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()
    schema = None

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        remedy = _("The addresses are listed at /api/schema/.")
        if not request.path.endswith("/"):
            remedy = _("Addresses end in a slash: %(path)s/") % {"path": request.path}
        raise NotFound(_("There is nothing at this address."), remedy)

    def get(self, request: Request, *args: object, **kwargs: object) -> Response:
        raise NotImplementedError  # initial() has raised for every method
