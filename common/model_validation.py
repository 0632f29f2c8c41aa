"""Model validation whose errors are refusals."""

from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from common.refusals import Invalid
from common.sentences import join_sentences


def full_clean_or_refuse(instance: models.Model, **options: Any) -> None:
    """Validate with Model.full_clean(**options). Raises Invalid with the first field that is wrong."""
    try:
        instance.full_clean(**options)
    except ValidationError as error:
        field, texts = next(iter(error.message_dict.items()))
        raise Invalid(join_sentences(texts), field=field) from error
