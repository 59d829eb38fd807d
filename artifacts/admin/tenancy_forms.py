"""Forms of the tenancy pages: members by user name, keys by what they act as, kinds by choice."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.admin.widgets import AdminSplitDateTime
from django.contrib.auth import get_user_model
from django.utils.translation import gettext_lazy as _
from pydantic import ValidationError

from artifacts import clock
from artifacts.core.actors import Actor, actor_adapter
from artifacts.core.artifact import registered_kinds, validation_failed
from artifacts.models import ApiKey, Membership, Tenant, Workspace

# Not a person and not a thread's agent: a key must not decide in somebody's name.
ACTS_AS = {
    "external_agent": _("external agent (subject to write policies)"),
    "system": _("system (writes like the host's own code)"),
    "evaluator": _("evaluator (gives feedback only), as name@version"),
}


class WorkspaceForm(forms.ModelForm):
    kinds = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text=_("Kinds that may be created here; none chosen allows all."),
    )

    class Meta:
        model = Workspace
        fields = ["name", "tenant", "kinds"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "kinds" in self.fields:
            known = sorted({*registered_kinds(), *(self.instance.kinds or ())})
            self.fields["kinds"].choices = [(kind, kind) for kind in known]  # type: ignore[attr-defined]

    def clean_kinds(self) -> list[str] | None:
        return self.cleaned_data["kinds"] or None


class MemberForm(forms.ModelForm):
    username = forms.CharField(label=_("User name"), help_text=_("Of an account that exists."))

    class Meta:
        model = Membership
        fields = ["workspace", "role"]

    def clean_username(self) -> str:
        users = get_user_model()._default_manager
        name: str = self.cleaned_data["username"]
        try:
            self.instance.user = users.get_by_natural_key(name)
        except get_user_model().DoesNotExist:
            raise forms.ValidationError(_("There is no user of this name.")) from None
        return name

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        workspace = cleaned.get("workspace")
        if workspace is not None and "username" in cleaned:
            known = Membership.objects.filter(workspace=workspace, user=self.instance.user)
            if known.exists():
                raise forms.ValidationError(_("This user is a member already."))
        return cleaned


class ApiKeyForm(forms.ModelForm):
    """Without the field `tenant`, the key is of the workspace's."""

    acts_as = forms.ChoiceField(label=_("Acts as"), choices=list(ACTS_AS.items()))
    identity = forms.CharField(
        label=_("Known as"),
        max_length=128,
        help_text=_("The name in the log of whoever uses the key."),
    )
    expires_at = forms.SplitDateTimeField(
        label=_("Expires at"), required=False, widget=AdminSplitDateTime
    )

    class Meta:
        model = ApiKey
        fields = ["tenant", "workspace", "name", "role", "expires_at"]

    def clean_expires_at(self) -> Any:
        moment = self.cleaned_data["expires_at"]
        if moment is not None and moment <= clock.now():
            raise forms.ValidationError(_("This moment has passed."))
        return moment

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        workspace: Workspace | None = cleaned.get("workspace")
        tenant: Tenant | None = cleaned.get("tenant")
        if workspace is not None and tenant is not None and workspace.tenant_id != tenant.pk:
            self.add_error("workspace", _("This workspace belongs to another tenant."))
        if cleaned.get("acts_as") and cleaned.get("identity"):
            try:
                self.cleaned_actor: Actor = _actor(cleaned["acts_as"], cleaned["identity"])
            except ValidationError as error:
                self.add_error("identity", validation_failed(error).message)
        return cleaned

    @property
    def cleaned_tenant(self) -> Tenant:
        """The tenant that was chosen, or that of the workspace."""
        workspace: Workspace | None = self.cleaned_data["workspace"]
        tenant: Tenant = self.cleaned_data.get("tenant") or workspace.tenant  # type: ignore[union-attr]
        return tenant


def _actor(kind: str, identity: str) -> Actor:
    name, at, version = identity.rpartition("@")
    members: dict[str, dict[str, str]] = {
        "external_agent": {"client_id": identity},
        "system": {"name": f"key/{identity}"},
        "evaluator": {"name": name if at else identity, "version": version if at else "1"},
    }
    actor: Actor = actor_adapter.validate_python({"kind": kind, **members[kind]})
    return actor
