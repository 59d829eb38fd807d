"""What a reviewer types to make evidence of a signal, and whoever looks at a recipe."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from pydantic import ValidationError

from artifacts import conf
from artifacts.core.artifact import validation_failed
from artifacts.core.errors import ValidationFailed
from artifacts.core.json_input import parse_json
from feedback.services.routing import Route
from learning.core.definitions import Collection, Parameter


class RouteForm(forms.Form):
    """Which evidence a signal is."""

    collection = forms.ChoiceField(label=_("Collection"))
    type = forms.CharField(label=_("Type"), max_length=128)
    entity = forms.CharField(
        label=_("About"), max_length=500, help_text=_("The entity that the evidence is about.")
    )
    content = forms.CharField(
        label=_("Content (JSON)"),
        required=False,
        help_text=_("What the collection asks for; what the signal says is added as “signal”."),
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
    )

    def __init__(self, data: Any, *, collections: Mapping[str, Collection], **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.route: Route | None = None
        field = self.fields["collection"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(name, _described(each)) for name, each in collections.items()]

    def clean_content(self) -> dict[str, Any]:
        text = self.cleaned_data["content"].strip()
        if not text:
            return {}
        try:
            value = parse_json(text, limits=conf.limits(), field="content")
        except ValidationFailed as refused:
            raise forms.ValidationError(refused.message) from None
        if not isinstance(value, dict):
            raise forms.ValidationError(_("Write a JSON object: { … }"))
        return value

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            try:
                self.route = Route.model_validate(self.cleaned_data)
            except ValidationError as error:
                self.refuse(validation_failed(error))
        return self.cleaned_data

    def refuse(self, refused: ValidationFailed) -> None:
        """Say what the write path found wrong at the field it is about."""
        for error in refused.errors:
            place = [part for part in error["loc"] if part not in ("records", 0)]
            name = str(place[0]) if place and place[0] in self.fields else None
            where = ".".join(str(part) for part in place[1:])
            self.add_error(name, f"{where}: {error['msg']}" if where else str(error["msg"]))


class BulkRouteForm(RouteForm):
    """Which evidence many signals are, each about its own subject."""

    def __init__(self, data: Any, *, collections: Mapping[str, Collection], **kwargs: Any) -> None:
        super().__init__(data, collections=collections, **kwargs)
        self.fields["type"].required = self.fields["entity"].required = False
        self.fields["type"].help_text = _("Left empty: the kind of each signal.")
        self.fields["entity"].help_text = _("Left empty: the subject of each signal.")

    def clean(self) -> dict[str, Any]:
        if not self.errors:
            try:
                self.route_of("any")
            except ValidationError as error:
                self.refuse(validation_failed(error))
        return self.cleaned_data

    def route_of(self, kind: str) -> Route:
        """The route of a signal of this kind."""
        said = {name: value for name, value in self.cleaned_data.items() if value != ""}
        return Route.model_validate({"type": kind, **said})


class ParameterForm(forms.Form):
    """The parameters of one recipe; what is left empty is left out."""

    def __init__(self, data: Any, *, parameters: Mapping[str, Parameter]) -> None:
        super().__init__(data, prefix="p")
        for name, declared in parameters.items():
            self.fields[name] = _field(name, declared)

    @property
    def given(self) -> dict[str, Any]:
        empty = ("", None)
        return {name: value for name, value in self.cleaned_data.items() if value not in empty}


def _field(name: str, declared: Parameter) -> forms.Field:
    said: dict[str, Any] = {
        "label": name,
        "required": False,  # whether it is missing, the render says
        "help_text": declared.description,
        "initial": declared.default,
    }
    match declared.type:
        case "integer":
            return forms.IntegerField(**said)
        case "number":
            return forms.FloatField(**said)
        case "boolean":
            choices = [("", "—"), ("true", _("yes")), ("false", _("no"))]
            said["initial"] = "" if declared.default is None else str(declared.default).lower()
            return forms.TypedChoiceField(
                choices=choices, coerce=lambda text: text == "true", empty_value=None, **said
            )
        case _:
            return forms.CharField(strip=False, widget=forms.Textarea(attrs={"rows": 2}), **said)


def _described(collection: Collection) -> str:
    """A collection with what its content needs, so that nobody has to look it up."""
    needed = collection.content_schema.get("required")
    if not isinstance(needed, list) or not needed:
        return collection.name
    return f"{collection.name} (content needs {', '.join(map(str, needed))})"
