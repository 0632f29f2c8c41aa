"""The field for the languages that a person reads."""

from rest_framework import serializers

from common.languages import LANGUAGES


def reading_languages_field(*, required: bool = True) -> serializers.ListField:
    return serializers.ListField(
        required=required,
        child=serializers.ChoiceField(choices=LANGUAGES),
        max_length=len(LANGUAGES),
        help_text="Dialogues in other languages are not given to the person. Empty: every language.",
    )
