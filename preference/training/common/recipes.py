"""Recipes: frozen dataclasses of settings, checked at construction and changed with `--set name=value`.

    recipe = with_settings(diamante(), ["batch=32", "similar=none"])

A recipe is one value that can be compared, stored as JSON and printed, and that cannot hold a wrong setting:
construction runs the checks, and `dataclasses.replace` constructs again.
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar, get_args, get_type_hints

from preference.training.common.errors import TrainingError
from preference.training.common.messages import gettext as _

Recipe = TypeVar("Recipe")

# What no training needs more of: a slip of the keyboard must not hold a graphics card for years.
MOST: Mapping[str, int] = types.MappingProxyType(
    {
        "epochs": 1_000,
        "comparisons": 10_000_000,
        "validation_turns": 1_000_000,
        "curve_seeds": 100,
        "layers": 200,
        "heads": 1_000,
        "hidden": 100_000,
        "vocabulary": 10_000_000,
    }
)


def check_bounds(
    recipe: Any,
    *,
    least: Mapping[str, float] = types.MappingProxyType({}),
    positive: Sequence[str] = (),
    finite: Sequence[str] = (),
    shares: Sequence[str] = (),
    choices: Mapping[str, Sequence[str]] = types.MappingProxyType({}),
) -> None:
    """Raise TrainingError for the first setting out of bounds; None is always within.

    least: smallest value by name; the largest are in MOST. positive: greater than 0, and finite. finite: not infinite,
    which JSON cannot hold. shares: from 0 to less than 1. choices: allowed words by name. Every comparison refuses NaN.
    """
    for name, smallest in least.items():
        _require(
            recipe,
            name,
            lambda value, smallest=smallest: value >= smallest,
            _("%(name)s is %(value)s, and must be at least %(least)s."),
            least=smallest,
        )
    for name, largest in MOST.items():
        if hasattr(recipe, name):
            _require(
                recipe,
                name,
                lambda value, largest=largest: value <= largest,
                _("%(name)s is %(value)s, and must be at most %(most)s."),
                most=largest,
            )
    for name in finite:
        template = _("%(name)s is %(value)s, and must be finite.")
        _require(recipe, name, lambda value: value != math.inf, template)
    for name in positive:
        template = _("%(name)s is %(value)s, and must be greater than 0, and finite.")
        _require(recipe, name, lambda value: 0 < value < math.inf, template)
    for name in shares:
        template = _("%(name)s is %(value)s, and must be at least 0 and less than 1.")
        _require(recipe, name, lambda value: 0 <= value < 1, template)
    for name, allowed in choices.items():
        value = getattr(recipe, name)
        if value not in allowed:
            template = _("%(name)s is %(value)s, and must be one of %(choices)s.")
            raise _refusal(template, name, repr(value), choices=", ".join(allowed))


def _require(
    recipe: Any, name: str, is_allowed: Callable[..., bool], template: str, **bounds: object
) -> None:
    """Raise TrainingError unless the setting is None or allowed. template: see _refusal."""
    value = getattr(recipe, name)
    if value is not None and not is_allowed(value):
        raise _refusal(template, name, value, **bounds)


def with_settings(recipe: Recipe, settings: Sequence[str]) -> Recipe:
    """The recipe with settings of the form `name=value`; None is written `none`. Raises TrainingError."""
    values = dict(_parse_setting(type(recipe), setting) for setting in settings)
    return dataclasses.replace(recipe, **values)  # type: ignore[type-var]


def _parse_setting(recipe_class: type, text: str) -> tuple[str, Any]:
    """`name=value` as the setting's name and its value in the type that the dataclass declares."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        raise TrainingError(
            _("%(setting)s is not a setting.") % {"setting": repr(text)},
            _("Write name=value, for example batch=32."),
        )
    kinds = get_type_hints(recipe_class)
    if name not in kinds:
        raise TrainingError(
            _("A recipe has no setting %(setting)s.") % {"setting": repr(name)},
            _("It has %(names)s.") % {"names": ", ".join(kinds)},
        )
    return name, _parse_value(name, value, kinds[name])


def _parse_value(name: str, text: str, kind: Any) -> Any:
    """kind: int, float, bool or str, or one of them `| None`."""
    if isinstance(kind, types.UnionType):
        if text.lower() == "none":
            return None
        kind = next(option for option in get_args(kind) if option is not types.NoneType)
    if kind is bool:
        # Not kind(text): bool("false") is True.
        if text.lower() not in ("true", "false"):
            raise _refusal(_("%(name)s is %(value)s, and must be true or false."), name, repr(text))
        return text.lower() == "true"
    try:
        return kind(text)
    except ValueError:
        templates = {
            int: _("%(name)s is %(value)s, and must be a whole number."),
            float: _("%(name)s is %(value)s, and must be a number."),
        }
        raise _refusal(templates[kind], name, repr(text)) from None


def _refusal(template: str, name: str, value: object, **bounds: object) -> TrainingError:
    """template: a translated sentence with places for name, value and the bounds."""
    return TrainingError(
        template % {"name": name, "value": value, **bounds},
        _("Correct it: --set %(name)s=…") % {"name": name},
    )


def values_before(recipe_class: type, **others: Any) -> dict[str, Any]:
    """What runs did before a setting existed, by its name: its default, or the value among `others`."""
    fields = dataclasses.fields(recipe_class)
    return {field.name: field.default for field in fields} | others


def differences(
    mine: Mapping[str, Any],
    saved: Mapping[str, Any],
    *,
    free: Collection[str],
    before: Mapping[str, Any] = types.MappingProxyType({}),
) -> list[str]:
    """Settings that keep a run from continuing one with the recipe `saved`, each as `name: saved → mine`.

    free: settings that may differ, because they change memory and rounding, not what is computed. before: see
    values_before; a recipe that was saved before a setting existed counts as having this value.
    """
    names = [*mine, *(name for name in saved if name not in mine)]
    done = {**before, **saved}
    return [
        f"{name}: {done.get(name)} → {mine.get(name)}"
        for name in names
        if name not in free and done.get(name) != mine.get(name)
    ]
