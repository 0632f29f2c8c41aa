"""REST API of webhooks."""

from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.rest.person import person
from common.rest.pagination import CursorPagination, NewestFirst, paginated_response
from common.rest.serializers import validated_input, validated_query
from projects.models import Project, Webhook
from projects.roles import Capability
from projects.selectors import project_for
from projects.webhooks import services
from projects.webhooks.selectors import deliveries_of, webhook_for, webhooks_of
from projects.webhooks.serializers import (
    DeliveryFilters,
    DeliverySerializer,
    ReplayInput,
    ReplaySerializer,
    SecretInput,
    TestInput,
    TestSerializer,
    WebhookChanges,
    WebhookInput,
    WebhookSerializer,
    WebhookWithSecretSerializer,
)

TAG = ["Webhooks"]


class OldestFirst(CursorPagination):
    ordering = ("created_at", "pk")


def _project(request: Request, slug: str) -> Project:
    return project_for(person(request), slug, Capability.MANAGE_MEMBERS)


def _webhook(request: Request, slug: str, webhook_id: UUID) -> Webhook:
    return webhook_for(_project(request, slug), webhook_id)


def _with_secret(webhook: Webhook, secret: str, code: int) -> Response:
    data = WebhookWithSecretSerializer(webhook, context={"secret": secret}).data
    return Response(data, status=code)


class WebhooksView(APIView):
    pagination_class = OldestFirst

    @extend_schema(tags=TAG, operation_id="webhooks_list", responses=WebhookSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """The project's webhooks."""
        return paginated_response(self, request, webhooks_of(_project(request, slug)), WebhookSerializer)

    @extend_schema(
        tags=TAG,
        operation_id="webhooks_create",
        request=WebhookInput,
        responses={201: WebhookWithSecretSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Create a webhook. Its secret is in this answer only. Codes: too_many, id_in_use."""
        project = _project(request, slug)
        fields = validated_input(WebhookInput, request)
        webhook_id = fields.pop("id")
        row, secret = services.create_webhook(
            project=project, actor=person(request), webhook_id=webhook_id, **fields
        )
        return _with_secret(row, secret, status.HTTP_201_CREATED)


class WebhookView(APIView):
    @extend_schema(tags=TAG, operation_id="webhooks_read", responses=WebhookSerializer)
    def get(self, request: Request, slug: str, webhook_id: UUID) -> Response:
        """One webhook, without its secret."""
        return Response(WebhookSerializer(_webhook(request, slug, webhook_id)).data)

    @extend_schema(
        tags=TAG, operation_id="webhooks_change", request=WebhookChanges, responses=WebhookSerializer
    )
    def patch(self, request: Request, slug: str, webhook_id: UUID) -> Response:
        """Change the address, the events or the description, or switch it on or off."""
        webhook = _webhook(request, slug, webhook_id)
        fields = validated_input(WebhookChanges, request)
        on = fields.pop("on", None)
        if fields:
            webhook = services.change_webhook(webhook=webhook, actor=person(request), **fields)
        if on is not None:
            webhook = services.switch_webhook(webhook=webhook, actor=person(request), on=on)
        return Response(WebhookSerializer(webhook).data)

    @extend_schema(tags=TAG, operation_id="webhooks_remove", responses={204: None})
    def delete(self, request: Request, slug: str, webhook_id: UUID) -> Response:
        """Remove it with its deliveries. Those that wait are not sent."""
        webhook = _webhook(request, slug, webhook_id)
        services.remove_webhook(webhook=webhook, actor=person(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


class SecretView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="webhooks_new_secret",
        request=SecretInput,
        responses=WebhookWithSecretSerializer,
    )
    def post(self, request: Request, slug: str, webhook_id: UUID) -> Response:
        """Make a new secret, which is in this answer only. The one before signs beside it for a day.

        Code: changed_meanwhile.
        """
        webhook = _webhook(request, slug, webhook_id)
        version = validated_input(SecretInput, request)["version"]
        row, secret = services.rotate_secret(webhook=webhook, actor=person(request), version=version)
        return _with_secret(row, secret, status.HTTP_200_OK)


class TestView(APIView):
    @extend_schema(tags=TAG, operation_id="webhooks_test", request=TestInput, responses={202: TestSerializer})
    def post(self, request: Request, slug: str, webhook_id: UUID) -> Response:
        """Send the event webhook.test to this webhook, on the way of all others."""
        webhook = _webhook(request, slug, webhook_id)
        test_id = validated_input(TestInput, request)["id"]
        event = services.send_test(webhook=webhook, actor=person(request), test_id=test_id)
        return Response(TestSerializer(event).data, status=status.HTTP_202_ACCEPTED)


class DeliveriesView(APIView):
    pagination_class = NewestFirst

    @extend_schema(
        tags=TAG,
        operation_id="webhook_deliveries_list",
        parameters=[DeliveryFilters],
        responses=DeliverySerializer(many=True),
    )
    def get(self, request: Request, slug: str, webhook_id: UUID) -> Response:
        """What was sent, waits or failed, newest first."""
        webhook = _webhook(request, slug, webhook_id)
        rows = deliveries_of(webhook, **validated_query(DeliveryFilters, request))
        rows = rows.select_related("webhook__project")
        return paginated_response(self, request, rows, DeliverySerializer)


class ReplaysView(APIView):
    @extend_schema(
        tags=TAG,
        operation_id="webhook_deliveries_replay",
        request=ReplayInput,
        responses={202: ReplaySerializer},
    )
    def post(self, request: Request, slug: str, webhook_id: UUID) -> Response:
        """Send deliveries again, with the webhook-id of before. Code: id_in_use."""
        webhook = _webhook(request, slug, webhook_id)
        fields = validated_input(ReplayInput, request)
        replay_id = fields.pop("id")
        count = services.replay_deliveries(
            webhook=webhook, actor=person(request), replay_id=replay_id, **fields
        )
        return Response(ReplaySerializer({"count": count}).data, status=status.HTTP_202_ACCEPTED)


ONE = "projects/<slug:slug>/webhooks/<uuid:webhook_id>/"
urlpatterns = [
    path("projects/<slug:slug>/webhooks/", WebhooksView.as_view()),
    path(ONE, WebhookView.as_view()),
    path(f"{ONE}secret/", SecretView.as_view()),
    path(f"{ONE}test/", TestView.as_view()),
    path(f"{ONE}deliveries/", DeliveriesView.as_view()),
    path(f"{ONE}replays/", ReplaysView.as_view()),
]
