"""REST API of generation: the candidates that an annotator waits for, and the models that write them."""

from uuid import UUID

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.models import Scope
from accounts.rest.person import person
from common.rest.pagination import CursorPagination, paginated_response
from common.rest.serializers import validated_input
from generation import generators, services, sharing
from generation.selectors import (
    generator_for,
    generator_from_others,
    generators_for,
    generators_from_others,
    project_to_share_with,
    projects_sharing,
    request_for,
    trained_generator_for,
)
from generation.serializers import (
    CandidateRequestSerializer,
    GeneratorChange,
    GeneratorFromOthersSerializer,
    GeneratorInput,
    GeneratorSerializer,
    OfferInput,
    SharingProjectSerializer,
)
from projects.roles import Capability
from projects.selectors import project_for

TAG = ["Candidates"]
MODELS = ["Models"]


class CandidateRequestView(APIView):
    @extend_schema(tags=TAG, operation_id="candidate_requests_read", responses=CandidateRequestSerializer)
    def get(self, request: Request, pk: UUID) -> Response:
        """State and candidates of a turn's request."""
        row = request_for(person(request), pk)
        services.wake_if_overdue(row)
        return Response(CandidateRequestSerializer(row).data)


class RetryView(APIView):
    write_scope = Scope.ANNOTATE

    @extend_schema(
        tags=TAG, operation_id="candidate_requests_retry", request=None, responses=CandidateRequestSerializer
    )
    def post(self, request: Request, pk: UUID) -> Response:
        """Queue a failed request again. Code: already_done."""
        row = services.retry_request(request=request_for(person(request), pk))
        return Response(CandidateRequestSerializer(row).data)


class GeneratorsView(APIView):
    pagination_class = CursorPagination

    @extend_schema(tags=MODELS, operation_id="generators_list", responses=GeneratorSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The models that projects can choose among, for people who configure a project."""
        return paginated_response(self, request, generators_for(person(request)), GeneratorSerializer)

    @extend_schema(
        tags=MODELS,
        operation_id="generators_create",
        request=GeneratorInput,
        responses={201: GeneratorSerializer},
    )
    def post(self, request: Request) -> Response:
        """Add a model. Codes: invalid (an option), name_taken."""
        generators_for(person(request))
        generator = generators.create_generator(
            actor=person(request), **validated_input(GeneratorInput, request)
        )
        return Response(GeneratorSerializer(generator).data, status=status.HTTP_201_CREATED)


class GeneratorView(APIView):
    @extend_schema(tags=MODELS, operation_id="generators_read", responses=GeneratorSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """One model."""
        return Response(GeneratorSerializer(generator_for(person(request), slug)).data)

    @extend_schema(
        tags=MODELS, operation_id="generators_change", request=GeneratorChange, responses=GeneratorSerializer
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change where its replies come from. Code: invalid (an option)."""
        row = generator_for(person(request), slug)
        values = validated_input(GeneratorChange, request)
        changed = generators.change_generator(actor=person(request), generator=row, **values)
        return Response(GeneratorSerializer(changed).data)


class GeneratorSharingView(APIView):
    """For managers of the project that trained the model."""

    pagination_class = CursorPagination

    @extend_schema(
        tags=MODELS, operation_id="generators_sharing_list", responses=SharingProjectSerializer(many=True)
    )
    def get(self, request: Request, slug: str) -> Response:
        """The projects that a trained model is offered to or shared with."""
        row = trained_generator_for(person(request), slug)
        return paginated_response(self, request, projects_sharing(row), SharingProjectSerializer)

    @extend_schema(tags=MODELS, operation_id="generators_offer", request=OfferInput, responses={204: None})
    def post(self, request: Request, slug: str) -> Response:
        """Offer a trained model to another project. Codes: no_project, own_model."""
        row = trained_generator_for(person(request), slug)
        project = project_to_share_with(validated_input(OfferInput, request)["project"])
        sharing.offer_generator(actor=person(request), generator=row, project=project)
        return Response(status=status.HTTP_204_NO_CONTENT)


class GeneratorSharingProjectView(APIView):
    @extend_schema(tags=MODELS, operation_id="generators_stop_sharing", responses={204: None})
    def delete(self, request: Request, slug: str, project: str) -> Response:
        """Withdraw an offer, or stop sharing. A project that has chosen the model keeps it until it changes that."""
        row = trained_generator_for(person(request), slug)
        sharing.stop_sharing(actor=person(request), generator=row, project=project_to_share_with(project))
        return Response(status=status.HTTP_204_NO_CONTENT)


class GeneratorsFromOthersView(APIView):
    """For managers of the project that a model is offered to."""

    pagination_class = CursorPagination

    @extend_schema(
        tags=MODELS,
        operation_id="generators_from_others_list",
        responses=GeneratorFromOthersSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Other projects' models that are offered to this project or shared with it."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        rows = generators_from_others(project)
        return paginated_response(self, request, rows, GeneratorFromOthersSerializer)


class GeneratorFromOthersView(APIView):
    @extend_schema(
        tags=MODELS, operation_id="generators_from_others_accept", request=None, responses={204: None}
    )
    def post(self, request: Request, slug: str, generator: str) -> Response:
        """Accept an offered model: the project may choose it from now on. Code: not_offered."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        row = generator_from_others(project, generator)
        sharing.accept_generator(actor=person(request), generator=row, project=project)
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(tags=MODELS, operation_id="generators_from_others_decline", responses={204: None})
    def delete(self, request: Request, slug: str, generator: str) -> Response:
        """Decline an offer, or give a shared model back."""
        project = project_for(person(request), slug, Capability.MANAGE_MEMBERS)
        row = generator_from_others(project, generator)
        sharing.stop_sharing(actor=person(request), generator=row, project=project)
        return Response(status=status.HTTP_204_NO_CONTENT)


urlpatterns = [
    path("candidate-requests/<uuid:pk>/", CandidateRequestView.as_view()),
    path("candidate-requests/<uuid:pk>/retry/", RetryView.as_view()),
    path("generators/", GeneratorsView.as_view()),
    path("generators/<slug:slug>/", GeneratorView.as_view()),
    path("generators/<slug:slug>/sharing/", GeneratorSharingView.as_view()),
    path("generators/<slug:slug>/sharing/<slug:project>/", GeneratorSharingProjectView.as_view()),
    path("projects/<slug:slug>/models-of-others/", GeneratorsFromOthersView.as_view()),
    path("projects/<slug:slug>/models-of-others/<slug:generator>/", GeneratorFromOthersView.as_view()),
]
