"""A feedback type as a form: one control for each of its fields, JSON for what has none."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from django import forms
from django.utils.translation import gettext_lazy as _
from pydantic.fields import FieldInfo

from artifacts import conf
from artifacts.core import Feedback
from artifacts.core.errors import ValidationFailed
from artifacts.core.json_input import parse_json

EMPTY = ("", None)


class VerdictForm(forms.Form):
    """What is said of one thing; what is left empty is left out."""

    def __init__(self, cls: type[Feedback], data: Any = None) -> None:
        self.cls, self.type = cls, cls.feedback_type
        self.doc = " ".join((cls.__doc__ or "").split())
        super().__init__(data, prefix=self.type)
        for name, declared in cls.model_fields.items():
            self.fields[declared.alias or name] = _control(declared)

    @property
    def value(self) -> dict[str, Any]:
        return {name: each for name, each in self.cleaned_data.items() if each not in EMPTY}

    def refuse(self, refused: ValidationFailed) -> None:
        """Say what the rules found wrong at the field it is about."""
        for error in refused.errors:
            place = [part for part in error["loc"] if part != "value"]
            name = str(place[0]) if place and str(place[0]) in self.fields else None
            self.add_error(name, str(error["msg"]))


def _control(declared: FieldInfo) -> forms.Field:
    said: dict[str, Any] = {
        "required": False,  # whether it is missing, the rules say
        "help_text": declared.description or "",
    }
    kind = _plain(declared.annotation)
    if kind is bool:
        choices = [("true", _("yes")), ("false", _("no"))]
        return forms.TypedChoiceField(
            choices=choices,
            coerce=lambda text: text == "true",
            empty_value=None,
            widget=forms.RadioSelect,
            **said,
        )
    if get_origin(kind) is Literal:
        return forms.ChoiceField(
            choices=[("", "—"), *((each, each) for each in get_args(kind))], **said
        )
    if kind is int:
        return forms.IntegerField(**said)
    if kind is float:
        return forms.FloatField(**said)
    area = forms.Textarea(attrs={"rows": 3})
    if kind is str:
        return forms.CharField(strip=False, widget=area, **said)
    return _Json(widget=area, **said)


def _plain(annotation: Any) -> Any:
    """The type of a field without its bounds, and without None."""
    if get_origin(annotation) is Annotated:
        return _plain(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        others = [each for each in get_args(annotation) if each is not NoneType]
        return _plain(others[0]) if len(others) == 1 else annotation
    return annotation


class _Json(forms.CharField):
    """A value that has no control of its own."""

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        if not text:
            return None
        try:
            return parse_json(text, limits=conf.limits(), field="JSON")
        except ValidationFailed as refused:
            raise forms.ValidationError(refused.message) from None
