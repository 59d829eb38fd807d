"""What a reviewer sends: the decision, what was on the screen, and the result in their own words.

The forms read and write text; what it means is for the rules to say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from json import dumps
from typing import Any, Final

from django import forms
from django.utils.translation import gettext_lazy as _
from pydantic import TypeAdapter, ValidationError

from artifacts import conf
from artifacts.core.commands import Expect
from artifacts.core.errors import ValidationFailed
from artifacts.core.json_input import parse_json
from artifacts.core.values import Id

from .displays import is_markdown

ACCEPT: Final = "accept"
EDIT: Final = "edit"
REJECT: Final = "reject"
# Decides nothing: the page as it is now, with what was typed.
LOOK: Final = "look"

_expected: TypeAdapter[dict[str, Expect]] = TypeAdapter(dict[Id, Expect])


def _area(**attrs: str) -> forms.Textarea:
    """A field that stands beside its change on the page, outside the form element it belongs to."""
    return forms.Textarea(attrs={"rows": 18, "form": "decide", **attrs})


class DecisionForm(forms.Form):
    """Accept, accept with own edits, reject, or only look again."""

    decision = forms.ChoiceField(choices=[(name, name) for name in (ACCEPT, EDIT, REJECT, LOOK)])
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
    json = forms.CharField(
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
        initial = {
            "text": result.get("text"),
            "json": dumps(shown, indent=2, ensure_ascii=False),
        }
        super().__init__(data, prefix=prefix, initial=initial)
        if not self.has_text:
            del self.fields["text"]
        elif rest:
            self.fields["json"].label = _("Other fields (JSON)")
            self.fields["json"].widget.attrs["rows"] = min(len(rest) + 2, 18)
        else:
            del self.fields["json"]

    @property
    def seen(self) -> str:
        """Identifies what the fields held when the page was made."""
        return _digest(str(self.initial[name]) for name in self.fields)

    @property
    def was_edited(self) -> bool:
        """Whether somebody typed into the fields that come back."""
        names = [self.add_prefix(name) for name in self.fields]
        seen = self.data.get(self.add_prefix("seen"))
        if not seen or any(name not in self.data for name in names):
            return False
        return seen != _digest(self.data[name] for name in names)

    def clean_text(self) -> str:
        """A browser sends every line end as CRLF; the text keeps the ones it had."""
        before: str = self.result["text"]
        if self.add_prefix("text") not in self.data:
            return before
        text: str = self.cleaned_data["text"].replace("\r\n", "\n")
        if text == before.replace("\r\n", "\n"):
            return before
        return text.replace("\n", "\r\n") if "\r\n" in before else text

    def clean_json(self) -> dict[str, Any]:
        """The JSON object that was written."""
        text = self.cleaned_data["json"]
        if self.add_prefix("json") not in self.data:
            return {name: value for name, value in self.result.items() if name != "text"}
        try:
            value = parse_json(text, limits=conf.limits(), field="json")
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
        data: dict[str, Any] = self.cleaned_data.get("json", {})
        return {**data, "text": self.cleaned_data["text"]} if self.has_text else data


def unsent(posted: Mapping[str, Any], prefix: str | None) -> list[str]:
    """What somebody has typed into an edit form, whatever has become of the form."""
    start = f"{prefix}-" if prefix else ""
    texts = [posted[start + name] for name in ("text", "json") if start + name in posted]
    seen = posted.get(f"{start}seen")
    return texts if seen and seen != _digest(texts) else []


def _digest(texts: Iterable[str]) -> str:
    # Browsers send CRLF for every line end, and drop one that a field begins with.
    plain = "\0".join(text.replace("\r\n", "\n").strip("\n") for text in texts)
    return hashlib.sha256(plain.encode(errors="replace")).hexdigest()
