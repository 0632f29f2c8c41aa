"""REST API of the caller's own account: identity, preferences, API tokens."""

from typing import Any

from django.conf import settings
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import ApiToken, Scope, Theme, User
from accounts.rest.languages import reading_languages_field
from accounts.rest.person import person
from accounts.selectors import token_for, tokens_for
from accounts.services import (
    DEFAULT_TOKEN_DAYS,
    MAX_TOKEN_DAYS,
    create_token,
    revoke_token,
    set_preferences,
)
from common.rest.pagination import NewestFirst, paginated_response
from common.rest.serializers import StrictSerializer, validated_input

TAG = ["Account"]


class MeSerializer(serializers.ModelSerializer[User]):
    shown_name = serializers.CharField(read_only=True)
    reading_languages = serializers.ListField(child=serializers.CharField())
    scopes = serializers.SerializerMethodField(help_text="Of the token in use; null in a browser session.")

    class Meta:
        model = User
        fields = [
            "id", "username", "email", "display_name", "shown_name", "language", "theme", "submit_on_enter",
            "reading_languages", "scopes",
        ]  # fmt: skip

    def get_scopes(self, user: User) -> list[Scope] | None:
        token = self.context["token"]
        return [Scope(scope) for scope in token.scopes] if isinstance(token, ApiToken) else None


class PreferencesInput(StrictSerializer):
    display_name = serializers.CharField(required=False, allow_blank=True, max_length=80)
    language = serializers.ChoiceField(
        required=False, allow_blank=True, choices=settings.LANGUAGES, help_text="Empty: as in the browser."
    )
    theme = serializers.ChoiceField(required=False, choices=Theme.choices)
    submit_on_enter = serializers.BooleanField(required=False)
    reading_languages = reading_languages_field(required=False)


class TokenInput(StrictSerializer):
    id = serializers.UUIDField(
        help_text="Chosen by the client. Sent again, it returns the first token with a new value, if it is unused."
    )
    name = serializers.CharField(max_length=80, help_text="What it is for.")
    scopes = serializers.ListField(
        child=serializers.ChoiceField(choices=Scope.choices), allow_empty=False, max_length=len(Scope)
    )
    days = serializers.IntegerField(
        allow_null=True,
        min_value=1,
        max_value=MAX_TOKEN_DAYS,
        default=DEFAULT_TOKEN_DAYS,
        help_text="How long it is valid. An explicit null: it never expires.",
    )


class TokenSerializer(serializers.ModelSerializer[ApiToken]):
    scopes = serializers.ListField(child=serializers.ChoiceField(choices=Scope.choices))
    is_live = serializers.BooleanField(help_text="Neither expired nor revoked.")

    class Meta:
        model = ApiToken
        fields = [
            "id", "name", "prefix", "scopes", "is_live", "created_at", "expires_at", "last_used_at", "revoked_at",
        ]  # fmt: skip


class NewTokenSerializer(TokenSerializer):
    value = serializers.SerializerMethodField(
        "plain_value", help_text="Shown this once; only its hash is stored."
    )

    class Meta(TokenSerializer.Meta):
        fields = [*TokenSerializer.Meta.fields, "value"]

    def plain_value(self, token: ApiToken) -> str:
        return str(self.context["plain"])


def serialize_me(request: Request) -> dict[str, Any]:
    return MeSerializer(person(request), context={"token": request.auth}).data


class MeView(APIView):
    @extend_schema(tags=TAG, operation_id="me_read", responses=MeSerializer)
    def get(self, request: Request) -> Response:
        """Who you are, and what the token may be used for."""
        return Response(serialize_me(request))

    @extend_schema(tags=TAG, operation_id="me_update", request=PreferencesInput, responses=MeSerializer)
    def patch(self, request: Request) -> Response:
        """Change your own preferences."""
        set_preferences(user=person(request), **validated_input(PreferencesInput, request))
        return Response(serialize_me(request))


class TokensView(APIView):
    pagination_class = NewestFirst

    @extend_schema(tags=TAG, operation_id="tokens_list", responses=TokenSerializer(many=True))
    def get(self, request: Request) -> Response:
        """Your tokens, including revoked ones, newest first."""
        return paginated_response(self, request, tokens_for(person(request)), TokenSerializer)

    @extend_schema(
        tags=TAG, operation_id="tokens_create", request=TokenInput, responses={201: NewTokenSerializer}
    )
    def post(self, request: Request) -> Response:
        """Create a token.

        Codes: not_allowed (more than the calling token has), too_many_tokens, token_in_use, id_in_use.
        """
        fields = validated_input(TokenInput, request)
        by = request.auth if isinstance(request.auth, ApiToken) else None
        token, plain = create_token(user=person(request), request_id=fields.pop("id"), by=by, **fields)
        return Response(
            NewTokenSerializer(token, context={"plain": plain}).data, status=status.HTTP_201_CREATED
        )


class TokenView(APIView):
    @extend_schema(tags=TAG, operation_id="tokens_read", responses=TokenSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """One of your tokens."""
        return Response(TokenSerializer(token_for(person(request), pk)).data)

    @extend_schema(tags=TAG, operation_id="tokens_revoke", responses={200: TokenSerializer})
    def delete(self, request: Request, pk: int) -> Response:
        """Revoke it: programs that use it are refused at once. It remains in the list."""
        token = token_for(person(request), pk)
        revoke_token(user=person(request), token_id=token.pk)
        return Response(TokenSerializer(token_for(person(request), pk)).data)


urlpatterns = [
    path("me/", MeView.as_view()),
    path("tokens/", TokensView.as_view()),
    path("tokens/<int:pk>/", TokenView.as_view()),
]
