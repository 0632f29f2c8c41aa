"""Served with DEBUG only."""

from django.urls import path

from frontend.pages.styleguide import components

urlpatterns = [
    path("", components.components, name="styleguide"),
    path("workbench/", components.workbench, name="styleguide_workbench"),
    path("errors/<str:code>/", components.error, name="styleguide_error"),
    path("rows/", components.job_row, name="styleguide_job"),
]
