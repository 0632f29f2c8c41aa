"""Sharing a trained model: its managers offer it on its page, managers of another project accept on their list."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import path
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.models import User
from common.refusals import NotFound
from frontend.pages.learning.models import act_on_model
from frontend.pages.requests import signed_in
from generation.models import Generator
from generation.selectors import generator_from_others, project_to_share_with, trained_generator_for
from generation.sharing import accept_generator, offer_generator, stop_sharing
from preference.registry.models import RegisteredModel
from projects.roles import Capability
from projects.selectors import project_for


def _generator_of(user: User, model: RegisteredModel) -> Generator:
    if model.generator is None:
        raise NotFound(_("This model writes no replies."), _("Only models that write replies are shared."))
    return trained_generator_for(user, model.generator.slug)


@require_POST
@login_required
def model_offer(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    def act(user: User, model: RegisteredModel) -> str:
        generator = _generator_of(user, model)  # first: the next line says which short names exist
        other = project_to_share_with(request.POST.get("project", "").strip())
        offer_generator(actor=user, generator=generator, project=other)
        return _("Offered. A manager of %(name)s has to accept, on the page of its models.") % {
            "name": other.title
        }

    return act_on_model(request, slug, name, act)


@require_POST
@login_required
def model_stop_sharing(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    def act(user: User, model: RegisteredModel) -> str:
        generator = _generator_of(user, model)
        other = project_to_share_with(request.POST.get("project", ""))
        stop_sharing(actor=user, generator=generator, project=other)
        return _("%(name)s can no longer choose the model.") % {"name": other.title}

    return act_on_model(request, slug, name, act)


@require_POST
@login_required
def model_accept(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug, Capability.MANAGE_MEMBERS)
    accept_generator(actor=user, generator=generator_from_others(project, name), project=project)
    messages.success(request, _("Accepted. Choose the model in the project's settings."))
    return redirect("models", slug)


@require_POST
@login_required
def model_decline(request: HttpRequest, slug: str, name: str) -> HttpResponse:
    user = signed_in(request)
    project = project_for(user, slug, Capability.MANAGE_MEMBERS)
    stop_sharing(actor=user, generator=generator_from_others(project, name), project=project)
    messages.success(request, _("This project can no longer choose the model."))
    return redirect("models", slug)


urlpatterns = [
    path("p/<slug:slug>/models/<slug:name>/offer/", model_offer, name="model_offer"),
    path("p/<slug:slug>/models/<slug:name>/stop-sharing/", model_stop_sharing, name="model_stop_sharing"),
    path("p/<slug:slug>/models/<slug:name>/accept/", model_accept, name="model_accept"),
    path("p/<slug:slug>/models/<slug:name>/decline/", model_decline, name="model_decline"),
]
