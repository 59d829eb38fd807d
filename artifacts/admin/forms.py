"""What a reviewer sends: the decision, what was on the screen, and the result in their own words.

The forms read and write text; what it means is for the rules to say.
"""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from pydantic import TypeAdapter, ValidationError

from artifacts import conf
from artifacts.core.commands import Expect
from artifacts.core.errors import ValidationFailed
from artifacts.core.json_input import parse_json
from artifacts.core.values import Id

from .displays import is_markdown

ACCEPT, EDIT, REJECT = "accept", "edit", "reject"

_expected: TypeAdapter[dict[str, Expect]] = TypeAdapter(dict[Id, Expect])


def _area(**attrs: str) -> forms.Textarea:
    """A field that stands beside its change on the page, outside the form element it belongs to."""
    return forms.Textarea(attrs={"rows": 18, "form": "decide", **attrs})


class DecisionForm(forms.Form):
    """Accept, accept with own edits, or reject."""

    decision = forms.ChoiceField(choices=[(name, name) for name in (ACCEPT, EDIT, REJECT)])
    reason = forms.CharField(
        label=_("Reason"),
        required=False,
        help_text=_("The proposer is told."),
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    keep_rest = forms.BooleanField(
        label=_("Keep what my edits leave out as a new proposal"), required=False
    )
    expect = forms.CharField(required=False, widget=forms.HiddenInput)
    command_id = forms.CharField(required=False, max_length=128, widget=forms.HiddenInput)

    def clean_expect(self) -> dict[str, Expect]:
        """What was on the screen, by proposal."""
        text = self.cleaned_data["expect"]
        if not text:
            return {}
        try:
            return _expected.validate_python(parse_json(text, limits=conf.limits()))
        except (ValidationError, ValidationFailed):
            raise forms.ValidationError(_("This page was changed on its way here.")) from None


class EditForm(forms.Form):
    """The result of one proposal as a person edits it: a Markdown text, JSON for the rest."""

    text = forms.CharField(
        label=_("Text"), required=False, strip=False, widget=_area(spellcheck="true")
    )
    data = forms.CharField(
        label=_("Data (JSON)"),
        required=False,
        strip=False,
        widget=_area(spellcheck="false"),
    )

    def __init__(self, data: Any, *, kind: str, result: dict[str, Any], prefix: str | None) -> None:
        self.result = result
        self.has_text = is_markdown(kind) and isinstance(result.get("text"), str)
        rest = {name: value for name, value in result.items() if name != "text"}
        shown = rest if self.has_text else result
        initial = {"text": result.get("text"), "data": json.dumps(shown, indent=2, ensure_ascii=False)}
        super().__init__(data, prefix=prefix, initial=initial)
        if not self.has_text:
            del self.fields["text"]
        elif rest:
            self.fields["data"].label = _("Other fields (JSON)")
            self.fields["data"].widget.attrs["rows"] = min(len(rest) + 2, 18)
        else:
            del self.fields["data"]

    def clean_text(self) -> str:
        """A browser sends every line end as CRLF; the text keeps the ones it had."""
        before: str = self.result["text"]
        if self.add_prefix("text") not in self.data:
            return before
        text: str = self.cleaned_data["text"].replace("\r\n", "\n")
        if text == before.replace("\r\n", "\n"):
            return before
        return text.replace("\n", "\r\n") if "\r\n" in before else text

    def clean_data(self) -> dict[str, Any]:
        """The JSON object that was written."""
        text = self.cleaned_data["data"]
        if self.add_prefix("data") not in self.data:
            return {name: value for name, value in self.result.items() if name != "text"}
        try:
            value = parse_json(text, limits=conf.limits(), field="data")
        except ValidationFailed as refused:
            raise forms.ValidationError(refused.message) from None
        if not isinstance(value, dict):
            raise forms.ValidationError(_("Write a JSON object: { … }"))
        return value

    @property
    def is_readable(self) -> bool:
        """Whether what was typed is data at all, whatever the rules think of it."""
        return hasattr(self, "cleaned_data") and set(self.fields) <= set(self.cleaned_data)

    @property
    def edited(self) -> dict[str, Any]:
        """The whole data as the person wants it."""
        data: dict[str, Any] = self.cleaned_data.get("data", {})
        return {**data, "text": self.cleaned_data["text"]} if self.has_text else data
