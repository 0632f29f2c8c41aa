"""With DEBUG only."""

from django.urls import path

from frontend.pages.styleguide import styleguide

urlpatterns = [
    path("", styleguide.components, name="styleguide"),
    path("workbench/", styleguide.workbench, name="styleguide_workbench"),
    path("errors/<str:code>/", styleguide.error, name="styleguide_error"),
    path("rows/", styleguide.job_row, name="styleguide_job"),
]
