"""Addresses of the pages. One block a feature, in the order of the tabs."""

from django.urls import path
from django.views.generic import RedirectView

from frontend.pages import account

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="profile"), name="home"),
    # Your account. What signing in needs is allauth's, under /accounts/.
    path("account/", account.profile, name="profile"),
    path("account/tokens/", account.api_tokens, name="api_tokens"),
    path("account/tokens/<int:token_id>/revoke/", account.revoke_api_token, name="revoke_api_token"),
    path("account/language/", account.set_language, name="set_language"),
    path("account/theme/", account.set_theme, name="set_theme"),
]
