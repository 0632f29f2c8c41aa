"""Fields of forms that choose a project."""

from typing import Any

from django import forms


class TitledProject(forms.ModelChoiceField):  # type: ignore[type-arg]  # not generic at run time
    """Projects by their titles."""

    def label_from_instance(self, obj: Any) -> str:
        return str(obj.title)
