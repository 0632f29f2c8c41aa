from django.urls import path

from annotation.batch_review.api import appeals, rounds, samples

urlpatterns = [
    path("projects/<slug:slug>/batches/", rounds.BatchesView.as_view(), name="api_batches"),
    path("projects/<slug:slug>/batches/plan/", rounds.PlanView.as_view(), name="api_batch_plan"),
    path("projects/<slug:slug>/batches/boards/", rounds.BoardsView.as_view(), name="api_batch_boards"),
    path("projects/<slug:slug>/rounds/", rounds.RoundsView.as_view(), name="api_rounds"),
    path("projects/<slug:slug>/appeals/", appeals.AppealsView.as_view(), name="api_appeals"),
    path("projects/<slug:slug>/judged/", appeals.JudgedWorkView.as_view(), name="api_judged"),
    path("rounds/<int:pk>/", rounds.RoundView.as_view(), name="api_round"),
    path("rounds/<int:pk>/seal/", rounds.SealView.as_view(), name="api_seal"),
    path("rounds/<int:pk>/unseal/", rounds.UnsealView.as_view(), name="api_unseal"),
    path("rounds/<int:pk>/group/", rounds.GroupView.as_view(), name="api_regroup"),
    path("rounds/<int:pk>/accept/", rounds.AcceptView.as_view(), name="api_accept"),
    path("rounds/<int:pk>/return/", rounds.ReturnView.as_view(), name="api_return"),
    path("rounds/<int:pk>/undo-acceptance/", rounds.UndoAcceptanceView.as_view(), name="api_undo_acceptance"),
    path("rounds/<int:pk>/undo-return/", rounds.UndoReturnView.as_view(), name="api_undo_return"),
    path("rounds/<int:pk>/sample/", samples.SampleView.as_view(), name="api_sample"),
    path("rounds/<int:pk>/sample/next/", samples.NextView.as_view(), name="api_sample_next"),
    path("sample-items/<int:pk>/", samples.ItemView.as_view(), name="api_sample_item"),
    path("sample-items/<int:pk>/judgements/", samples.JudgementsView.as_view(), name="api_judgements"),
    path("sample-items/<int:pk>/appeals/", appeals.RaiseView.as_view(), name="api_raise_appeal"),
    path("appeals/<uuid:pk>/settlement/", appeals.SettlementView.as_view(), name="api_settlement"),
]
