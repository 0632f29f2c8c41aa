"""Cancel and retry buttons on the page of a job's result."""

from collections.abc import Callable
from typing import Protocol
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from accounts.models import User
from frontend.pages.requests import signed_in
from jobs.models import Job


class JobAction(Protocol):
    """jobs.services.cancel_job or retry_job."""

    def __call__(self, *, job: Job, actor: User | None) -> Job: ...


def job_view(
    action: JobAction, job_in: Callable[[User, str, UUID], Job], page: str
) -> Callable[..., HttpResponse]:
    """A view that acts on the job of a result and returns to the result's page.

    job_in: the job of the result with this id in the project with this slug; raises NotFound or NotAllowed.
    """

    @require_POST
    @login_required
    def view(request: HttpRequest, slug: str, **ids: UUID) -> HttpResponse:
        (pk,) = ids.values()  # "export_id", "snapshot_id", …
        action(job=job_in(signed_in(request), slug, pk), actor=signed_in(request))
        return redirect(page, slug, pk)

    return view
