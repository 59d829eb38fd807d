"""Routing: a learning signal as evidence about its subject, where derivations look for it.

A signal stands on the backlog of the recipe to improve; what it was about is said in it. Whether it
tells against a skill, and as which evidence, is for the host's code or a person to say:

    route_signal(workspace, signal_id, Route(collection="outcomes", type="exception",
                                             content={"kind": "failure"}))

Nothing is routed by itself, unless `ROUTE_POLICY` says how.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from artifacts import conf
from artifacts.core.errors import InvalidState, NotFound
from artifacts.core.values import AddressPart, Id, Value
from artifacts.core.visibility import NOTHING_HIDDEN, Hidden
from artifacts.pool import twin
from artifacts.workspace import Workspace, WriteTransaction
from feedback.core.signals import COLLECTION
from learning.core.errors import RequestSchema
from learning.core.records import RecordInput
from learning.services.records import NAMESPACE, Ingested, ingest_in, record

log = logging.getLogger(__name__)


class Route(Value):
    """What a signal is evidence of. The entity is the signal's subject, unless another is named;
    the content goes beside what the signal itself says, which stands in it as `signal`."""

    collection: Id
    type: Id
    entity: AddressPart | None = None
    content: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class KeptSignal:
    """A signal as the policy sees it: its record's own members."""

    record_id: str
    type: str
    text: str
    content: Mapping[str, Any]

    @property
    def subject(self) -> str | None:
        """The entity that was rendered, if a target was resolved."""
        target = self.content["artifact_use"]["learning_target"]
        return target["entity"] if target else None


def route_signal(workspace: Workspace, signal_id: str, route: Route) -> Ingested:
    """Write a signal's evidence. Once a signal: again it is a duplicate, otherwise a conflict."""
    workspace.require("route_signal", signal_id)
    found = record(workspace, signal_id)
    if found.collection != COLLECTION:
        raise NotFound("signal", signal_id)
    if found.erased:
        raise InvalidState("what this signal said was erased")
    signal = KeptSignal(found.id, found.type or "", found.text, found.content)
    with workspace.transaction() as tx:
        return _routed(tx, signal, route, workspace.hidden)


aroute_signal = twin(route_signal)


def follow_policy(tx: WriteTransaction, signal: KeptSignal) -> None:
    """Ask the host's policy about a signal that was just written, in its transaction.

    The signal stands whatever the policy does; what it does wrong is logged.
    """
    policy = conf.function("ROUTE_POLICY")
    if policy is None:
        return
    try:
        route = policy(signal)
        if route is not None:
            _routed(tx, signal, Route.model_validate(route), NOTHING_HIDDEN)
    except Exception:
        log.exception("ROUTE_POLICY failed with signal %s", signal.record_id)


def _routed(tx: WriteTransaction, signal: KeptSignal, route: Route, hidden: Hidden) -> Ingested:
    entity = route.entity or signal.subject
    if entity is None:
        raise RequestSchema.at(["entity"], "must be named: this signal resolved no subject")
    evidence = RecordInput(
        collection=route.collection,
        entity=entity,
        type=route.type,
        text=signal.text,
        content={**route.content, "signal": signal.content["signal"]},
        derived_from=(signal.record_id,),
        dedupe_key=f"signal:{signal.record_id}",
    )
    [taken] = ingest_in(tx, [evidence], namespace=NAMESPACE, hidden=hidden)
    return Ingested(
        record_id=taken.record_id, duplicate=taken.duplicate, erased=taken.erased or None
    )
