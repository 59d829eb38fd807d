"""Uses: binding a recipe of three blocks with fifty rows, feedback on a use, and the purge.

The floor of a bind runs the very SELECTs and the INSERT of a bind on the driver itself; that of
feedback writes rows of the same shape, in one transaction, into tables of its own.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import connection

from artifacts import clock
from artifacts.core import Address, PutArtifact, SystemActor, new_id
from artifacts.workspace import Workspace, database
from benchmarks import copies, floors, scenes
from benchmarks.measure import Timing, report, summary, timed, timed_together

CLIENTS = 8
ROUNDS = 3
TEXT = scenes.PARAGRAPH * 2
PARAMETERS = {"task": "Answer the customer's question about the refund."}
FIELDS = 5


def catalog() -> dict[str, str]:
    """A recipe with two documents (20 and 10 values) and a view (20 events)."""
    document = {"entity": "{{entity}}"}
    artifacts: list[dict[str, Any]] = [
        {
            "name": "bench_prompt",
            "version": 1,
            "kind": "prompt",
            "lifecycle": "live",
            "parameters": {"entity": {}, "task": {}},
            "blocks": {
                "skill": {
                    "document": {**document, "collections": ["bench_skills"]},
                    "max_tokens": 10_000,
                    "required": True,
                },
                "profile": {
                    "document": {**document, "collections": ["bench_profiles"]},
                    "max_tokens": 10_000,
                },
                "history": {
                    "view": "bench_recent@1",
                    "params": {"entity": "{{entity}}"},
                    "max_tokens": 10_000,
                },
            },
            "template": "{{skill}}\n{{profile}}\n{{history}}\n{{task}}",
            "learning": {"target_block": "skill", "artifact": "bench_skill@1"},
        },
        {
            "name": "bench_skill",
            "version": 1,
            "kind": "skill",
            "lifecycle": "reviewed",
            "parameters": {"entity": {}},
            "blocks": {
                "skill": {
                    "document": {**document, "collections": ["bench_skills"]},
                    "max_tokens": 10_000,
                }
            },
            "template": "{{skill}}",
            "complete_keys": [f"k{number}" for number in range(20)],
        },
    ]
    fields = {
        f"f{n}": {"path": f"content.f{n}", "type": "string", "filter": True} for n in range(5)
    }
    any_object = {"type": "object"}
    collections: list[dict[str, Any]] = [
        {"name": "bench_skills", "version": 1, "mode": "keyed", "schema": any_object},
        {"name": "bench_profiles", "version": 1, "mode": "keyed", "schema": any_object},
        {"name": "bench_events", "version": 1, "mode": "event", "schema": any_object,
         "fields": fields},
    ]  # fmt: skip
    views = [
        {
            "name": "bench_recent",
            "version": 1,
            "parameters": {"entity": {}},
            "scope": {"entity": "{{entity}}", "collections": ["bench_events"]},
            "limit": 20,
        }
    ]
    package = {
        "name": "bench",
        "version": 1,
        "collections": [f"{each['name']}@1" for each in collections],
        "artifacts": ["bench_prompt@1", "bench_skill@1"],
        "views": ["bench_recent@1"],
    }
    return {  # JSON is YAML
        "package.yaml": json.dumps(package),
        "collections/all.yaml": json.dumps({"collections": collections}),
        "artifacts/all.yaml": json.dumps({"artifacts": artifacts}),
        "views/all.yaml": json.dumps({"views": views}),
    }


def prepared(name: str, entities: int) -> Workspace:
    """A workspace with the recipe and what its blocks find for each entity."""
    from learning.services.catalog import apply_catalog, files_of_package
    from learning.services.records import ingest

    workspace: Workspace = scenes.opened(scenes.new_workspace(name), SystemActor())
    apply_catalog(workspace, catalog())
    apply_catalog(workspace, files_of_package("skills"))
    for number in range(entities):
        entity = f"agent:{number}"
        workspace.commit_all(
            [
                PutArtifact(
                    address=Address(collection=collection, entity=entity, key=f"k{key}"),
                    kind="maintained_value",
                    data={"text": TEXT},
                    base_version=0,
                )
                for collection, keys in (("bench_skills", 20), ("bench_profiles", 10))
                for key in range(keys)
            ],
            origin="promotion",
        )
        event = {"collection": "bench_events", "entity": entity, "type": "seen", "text": TEXT}
        ingest(workspace, [event] * 40)
    return workspace


def binding(n: int, argument: tuple[str, int]) -> Callable[[], object]:
    """One client that binds for its entity: its own, or everybody's."""
    from feedback.services.uses import bind

    workspace_id, entities = argument
    workspace = scenes.opened(workspace_id, SystemActor())
    parameters = {"entity": f"agent:{n % entities}", **PARAMETERS}
    return lambda: bind(workspace, "bench_prompt", parameters)


def binding_floor(n: int, argument: tuple[str, int]) -> Callable[[], object]:
    """The same statements with the same parameters, and nothing made of their rows."""
    from feedback.services.uses import bind

    workspace_id, entities = argument
    workspace = scenes.opened(workspace_id, SystemActor())
    parameters = {"entity": f"agent:{n % entities}", **PARAMETERS}
    bind(workspace, "bench_prompt", parameters)  # now the target is there
    statements = _recorded(lambda: bind(workspace, "bench_prompt", parameters))
    driver = floors.connect()
    sqls = [sql.replace("%s", "?") if floors.is_sqlite() else sql for sql, _ in statements]
    params = [list(each) for _, each in statements]
    place = next(i for i, value in enumerate(params[-1]) if str(value).startswith("use_"))

    def work() -> None:
        for sql, values in zip(sqls[:-1], params[:-1], strict=True):
            driver.execute(sql, values).fetchall()
        params[-1][place] = new_id("use")
        driver.execute(sqls[-1], params[-1])

    return work


def _recorded(call: Callable[[], object]) -> list[tuple[str, Any]]:
    """The statements that a call sends, with their parameters."""
    kind = type(database())
    sent: list[tuple[str, Any]] = []
    original = kind._run

    def run(self: Any, statements: Any) -> Any:
        sent.extend(statements)
        return original(self, statements)

    kind._run = run  # type: ignore[method-assign]
    try:
        call()
    finally:
        kind._run = original  # type: ignore[method-assign]
    return sent


def bind_one(name: str, database_name: str, *, seconds: float) -> None:
    workspace = prepared(name, 1)
    argument = (workspace.id, 1)
    floor = timed(binding_floor(0, argument), seconds=seconds)
    ours = timed(binding(0, argument), seconds=seconds)
    report(name, database=database_name, ours=ours, floors={"same statements": floor})


def bind_together(name: str, database_name: str, *, seconds: float) -> None:
    """Eight clients on one entity beside eight on eight: sharing what is read shares no lock.

    In turns, one line each, as a machine that others use too is never twice as fast as before.
    """
    workspace = prepared(name, CLIENTS)

    def measured(entities: int) -> Timing:
        argument = (workspace.id, entities)
        return timed_together(binding, argument, writers=CLIENTS, seconds=seconds)

    for turn in range(ROUNDS):
        shares = (CLIENTS, 1) if turn % 2 else (1, CLIENTS)
        found = {entities: measured(entities) for entities in shares}
        floors_named = {"on eight entities": found[CLIENTS]}
        report(name, database=database_name, ours=found[1], floors=floors_named)


FLOOR_TABLES = (
    "CREATE TABLE floor_head (id INTEGER PRIMARY KEY, seq BIGINT NOT NULL)",
    "CREATE TABLE floor_use (id INTEGER PRIMARY KEY, public_id TEXT NOT NULL UNIQUE)",
    """CREATE TABLE floor_record (seq BIGINT PRIMARY KEY, public_id TEXT NOT NULL UNIQUE,
       entity TEXT NOT NULL, text TEXT NOT NULL, content TEXT NOT NULL)""",
    """CREATE TABLE floor_field (record BIGINT NOT NULL, name TEXT NOT NULL, text TEXT NOT NULL,
       PRIMARY KEY (record, name))""",
    "CREATE INDEX floor_field_text ON floor_field (name, text, record)",
    "CREATE TABLE floor_text (record BIGINT PRIMARY KEY, text TEXT NOT NULL)",
    "CREATE TABLE floor_signal (record BIGINT PRIMARY KEY, use_id INTEGER NOT NULL)",
)
FLOOR_NAMES = ("head", "use", "record", "field", "text", "signal")


def feedback(name: str, database_name: str, *, seconds: float) -> None:
    """One sender of feedback on one use."""
    from feedback.services.signals import submit
    from feedback.services.uses import bind
    from learning.services.records import record

    workspace = prepared(name, 1)
    use = bind(workspace, "bench_prompt", {"entity": "agent:0", **PARAMETERS})
    said = {
        "kind": "thumbs_down",
        "source": "end_user",
        "label": "incorrect_status",
        "comment": TEXT,
    }
    kept = record(workspace, submit(workspace, use.id, said).record_id)
    found = _feedback_floors(kept.text, json.dumps(kept.content), seconds)
    ours = timed(lambda: submit(workspace, use.id, said), seconds=seconds)
    report(name, database=database_name, ours=ours, floors=found)


def _feedback_floors(text: str, content: str, seconds: float) -> dict[str, Timing]:
    """Rows of the same shape in bare tables; and all rows of a record in tables with its indexes
    and its search."""
    driver = floors.connect()
    for table in FLOOR_NAMES:
        driver.execute(f"DROP TABLE IF EXISTS floor_{table}")
    for statement in FLOOR_TABLES:
        driver.execute(statement)
    driver.execute("INSERT INTO floor_head VALUES (1, 0)")
    driver.execute("INSERT INTO floor_use VALUES (1, 'use_1')")
    lock = "" if floors.is_sqlite() else " FOR NO KEY UPDATE"
    fields = ", ".join(["({p}, {p}, {p})"] * FIELDS)
    declared = {f"field_{n}": "incorrect_status" for n in range(FIELDS)}

    def run(sql: str, *params: Any) -> Any:
        return driver.execute(floors.sql(sql), params)

    def around(record: Callable[[int], None]) -> Callable[[], None]:
        def work() -> None:
            run("BEGIN IMMEDIATE" if floors.is_sqlite() else "BEGIN")
            run("SELECT seq FROM floor_head WHERE id = 1" + lock).fetchall()
            run("SELECT id FROM floor_use WHERE public_id = {p}", "use_1").fetchall()
            moved = run("UPDATE floor_head SET seq = seq + 1 WHERE id = 1 RETURNING seq")
            [[seq]] = moved.fetchall()
            record(seq)
            run("INSERT INTO floor_signal VALUES ({p}, 1)", seq)
            run("COMMIT")

        return work

    def bare(seq: int) -> None:
        run("INSERT INTO floor_record VALUES ({p}, {p}, {p}, {p}, {p})",
            seq, new_id("rec"), "artifact:skill", text, content)  # fmt: skip
        values = [value for name, said in declared.items() for value in (seq, name, said)]
        run(f"INSERT INTO floor_field VALUES {fields}", *values)
        run("INSERT INTO floor_text VALUES ({p}, {p})", seq, text)

    def same(seq: int) -> None:
        copies.run(driver, copies.rows_of_records([seq], text, content, declared))

    found = {"raw statements": timed(around(bare), seconds=seconds)}
    with copies.copied(driver):
        found["same rows, tables and indexes"] = timed(around(same), seconds=seconds)
    for table in FLOOR_NAMES:
        driver.execute(f"DROP TABLE floor_{table}")
    driver.close()
    return found


def purge(name: str, database_name: str, *, uses: int, seconds: float) -> None:
    """A backlog of expired uses goes in pages while one writer goes on, timed with and without."""
    from feedback.services.expiry import purge_expired

    workspace_id = scenes.new_workspace(name)
    writer = scenes.plan_edits(0, workspace_id)
    alone = timed(writer, seconds=seconds)
    _expired_uses(scenes.opened(workspace_id).pk, uses)
    took: list[float] = []
    ended = threading.Event()

    def pages() -> None:
        try:
            more = True
            while more:
                started = time.perf_counter()
                more = purge_expired()
                took.append(time.perf_counter() - started)
        finally:
            connection.close()
            ended.set()

    began = time.perf_counter()
    thread = threading.Thread(target=pages)
    thread.start()
    writes: list[float] = []
    while not ended.is_set():
        started = time.perf_counter()
        writer()
        writes.append(time.perf_counter() - started)
    thread.join()
    elapsed = time.perf_counter() - began
    report(f"{name}, pages", database=database_name,
           ours=summary(took, elapsed, each=uses // len(took)), floors={})  # fmt: skip
    report(f"{name}, writes beside it", database=database_name,
           ours=summary(writes, elapsed), floors={"without it": alone})  # fmt: skip


def _expired_uses(workspace_pk: int, count: int) -> None:
    from feedback.models import ArtifactUse

    long_ago = clock.now() - timedelta(days=400)
    numbers = itertools.count()
    for start in range(0, count, 2_000):
        ArtifactUse.objects.bulk_create(
            ArtifactUse(
                workspace_id=workspace_pk,
                public_id=f"use_{next(numbers):032x}",
                recipe_name="bench_prompt",
                recipe_version=1,
                definition_hash="0" * 64,
                render_sha256="0" * 64,
                truncated=False,
                sender="system:system",
                created_at=long_ago,
                expires_at=long_ago + timedelta(days=90),
            )
            for _ in range(min(2_000, count - start))
        )
