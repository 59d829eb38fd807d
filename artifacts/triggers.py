"""What the database itself refuses, declared once on a model and rendered for both databases.

PostgreSQL gets each guarantee through django-pgtrigger's migrations, SQLite through
`artifacts.guards` after every migrate. All refusals are an IntegrityError whose message starts
with `artifactr:`. The one way around append-only and final is an open erasure (`ErasureGuard`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import pgtrigger
from django.db import models
from pgtrigger import compiler

GUARD_TABLE = "artifactr_erasureguard"
LONGEST_NAME = 63

# A model class; the library's own annotations say an instance.
ModelClass: TypeAlias = Any


class GuardSql(compiler.UpsertTriggerSql):
    """The SQL of one guarantee on PostgreSQL; migrations name this class, so it only grows.

    Unlike the library's own, it honours no `pgtrigger.ignore`: nothing may switch a guarantee off.
    """

    def get_template(self) -> str:
        return """
            CREATE OR REPLACE FUNCTION {pgid}() RETURNS TRIGGER AS $$
                {declare}
                BEGIN
                    {func}
                END;
            $$ LANGUAGE plpgsql;
            DROP TRIGGER IF EXISTS {pgid} ON {table};
            CREATE TRIGGER {pgid} {when} {operation} ON {table}
                FOR EACH ROW EXECUTE FUNCTION {pgid}();
            COMMENT ON TRIGGER {pgid} ON {table} IS '{hash}';
        """

    def trigger_names(self) -> list[str]:
        return [self.pgid]


class KeepRowsSql(GuardSql):
    """Also refuses TRUNCATE, which fires no trigger of a row."""

    def get_template(self) -> str:
        return (
            super().get_template()
            + """
            DROP TRIGGER IF EXISTS {pgid}_truncate ON {table};
            CREATE TRIGGER {pgid}_truncate BEFORE TRUNCATE ON {table}
                FOR EACH STATEMENT EXECUTE FUNCTION {pgid}();
            COMMENT ON TRIGGER {pgid}_truncate ON {table} IS '{hash}';
        """
        )

    def trigger_names(self) -> list[str]:
        return [self.pgid, f"{self.pgid}_truncate"]


class Guard(compiler.Trigger):
    """A guarantee as it stands in a migration."""

    sql: GuardSql

    @property
    def uninstall_sql(self) -> str:
        return f"DROP FUNCTION IF EXISTS {self.sql.pgid}() CASCADE;"


class Guarantee(pgtrigger.Trigger):
    """Base: the names, the refusal, and the two renderings."""

    when = pgtrigger.Before
    operation = pgtrigger.Update
    sql_class: type[GuardSql] = GuardSql

    def get_pgid(self, model: ModelClass) -> str:
        """Name trigger and function alike: `<table>_<guarantee>`."""
        name = f"{model._meta.db_table}_{self.name}".lower()
        if len(name) > LONGEST_NAME - len("_truncate"):
            raise ValueError(f"{name} is too long for the name of a trigger")
        return name

    def message(self, model: ModelClass) -> str:
        raise NotImplementedError

    def compile(self, model: ModelClass) -> Guard:
        sql = self.sql_class(
            pgid=self.get_pgid(model),
            declare=self.render_declare(model),
            func=self.format_sql(self.render_func(model)),
            table=model._meta.db_table,
            when=self.when,
            operation=self.operation,
        )
        return Guard(name=self.name, sql=sql)

    def sqlite_statements(self, model: ModelClass) -> dict[str, str]:
        """What creates this guarantee on SQLite, by trigger name."""
        raise NotImplementedError

    def _raise(self, model: ModelClass) -> str:
        # Of the integrity class, so that both databases raise the same exception in Django.
        return (
            f"RAISE EXCEPTION '{self.message(model)}' USING "
            f"ERRCODE = 'integrity_constraint_violation', CONSTRAINT = '{self.get_pgid(model)}';"
        )

    def _sqlite_refusal(
        self, model: ModelClass, event: str, *, suffix: str = "", when: str = ""
    ) -> dict[str, str]:
        name = self.get_pgid(model) + suffix
        condition = f"WHEN {when} " if when else ""
        return {
            name: f'CREATE TRIGGER "{name}" BEFORE {event} ON "{model._meta.db_table}" '
            f"FOR EACH ROW {condition}BEGIN SELECT RAISE(ABORT, '{self.message(model)}'); END"
        }


class KeepRows(Guarantee):
    """Rows stay as they are: from their insert on, or once `field` has left the value `while_`.

    With an erasure open in the same transaction, the `erasable` columns may be emptied: text to ''
    or '{}', or null where that is allowed, bytes to nothing. Nothing else may change with them.
    """

    operation = pgtrigger.Update | pgtrigger.Delete
    sql_class = KeepRowsSql

    def __init__(
        self,
        *,
        name: str,
        erasable: Iterable[str] = (),
        field: str | None = None,
        while_: str | None = None,
    ) -> None:
        self.erasable = tuple(erasable)
        self.field = field
        self.while_ = while_
        super().__init__(name=name)

    def message(self, model: ModelClass) -> str:
        if self.field:
            return f"artifactr: a settled row of {model._meta.db_table} is final"
        return f"artifactr: rows of {model._meta.db_table} are append-only"

    def get_declare(self, model: ModelClass) -> list[tuple[str, str]]:
        return [("is_erasing", "BOOLEAN")] if self.erasable else []

    def get_func(self, model: ModelClass) -> str:
        # Nested, because plpgsql gives OLD and NEW no fields where the operation has none. The
        # guard is asked for with its schema: a temporary table of that name must open nothing.
        while_free = ""
        if self.field:
            while_free = f"""
                IF TG_OP <> 'TRUNCATE' THEN
                    IF {self._is_free(model)} THEN
                        IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
                        RETURN NEW;
                    END IF;
                END IF;
            """
        while_erasing = ""
        if self.erasable:
            while_erasing = f"""
                IF TG_OP = 'UPDATE' THEN
                    EXECUTE format(
                        'SELECT EXISTS (SELECT 1 FROM %I.{GUARD_TABLE})', TG_TABLE_SCHEMA
                    ) INTO is_erasing;
                    IF is_erasing AND {self._only_empties(model, "postgresql")} THEN
                        RETURN NEW;
                    END IF;
                END IF;
            """
        return f"{while_free} {while_erasing} {self._raise(model)}"

    def sqlite_statements(self, model: ModelClass) -> dict[str, str]:
        held = f"NOT ({self._is_free(model)})" if self.field else ""
        changed = held
        if self.erasable:
            erasing = f'EXISTS (SELECT 1 FROM "{GUARD_TABLE}") AND '
            changed = f"NOT ({erasing}{self._only_empties(model, 'sqlite')})"
            changed = f"{held} AND {changed}" if held else changed
        return self._sqlite_refusal(
            model, "UPDATE", suffix="_update", when=changed
        ) | self._sqlite_refusal(model, "DELETE", suffix="_delete", when=held)

    def _is_free(self, model: ModelClass) -> str:
        assert self.field
        return f"OLD.\"{model._meta.get_field(self.field).column}\" = '{self.while_}'"

    def _only_empties(self, model: ModelClass, vendor: str) -> str:
        fields = model._meta.concrete_fields
        kept = [field.column for field in fields if field.name not in self.erasable]
        old, new = (", ".join(f'{row}."{name}"' for name in kept) for row in ("OLD", "NEW"))
        same = "IS NOT DISTINCT FROM" if vendor == "postgresql" else "IS"
        conditions = [f"({new}) {same} ({old})"]
        for field in (model._meta.get_field(name) for name in self.erasable):
            new, old = f'NEW."{field.column}"', f'OLD."{field.column}"'
            empties = "('', '{}')"
            if isinstance(field, models.BinaryField):
                empties = "(''::bytea)" if vendor == "postgresql" else "(x'')"
            or_null = f" OR {new} IS NULL" if field.null else ""
            conditions.append(f"({new} {same} {old} OR {new} IN {empties}{or_null})")
        return " AND ".join(conditions)


class Monotonic(Guarantee):
    """An update may raise `field`, never lower it."""

    def __init__(self, *, field: str) -> None:
        self.field = field
        super().__init__(name="monotonic")

    def message(self, model: ModelClass) -> str:
        return f"artifactr: {self.field} of {model._meta.db_table} only rises"

    def get_func(self, model: ModelClass) -> str:
        return f"IF {self._falls(model)} THEN {self._raise(model)} END IF; RETURN NEW;"

    def sqlite_statements(self, model: ModelClass) -> dict[str, str]:
        column = model._meta.get_field(self.field).column
        return self._sqlite_refusal(model, f'UPDATE OF "{column}"', when=self._falls(model))

    def _falls(self, model: ModelClass) -> str:
        column = model._meta.get_field(self.field).column
        return f'NEW."{column}" < OLD."{column}"'


class LogHead(Guarantee):
    """A workspace's head moves by one, and only to the event that has just been inserted.

    The event is there before the head names it, and events are never taken back, so a look at the
    log tells a move by an insert from any other: the same rule on both databases.
    """

    columns = ("head_seq", "head_chain", "last_event_at")

    def __init__(self) -> None:
        super().__init__(name="monotonic")

    def message(self, model: ModelClass) -> str:
        return f"artifactr: the head in {model._meta.db_table} moves only with an event"

    def get_func(self, model: ModelClass) -> str:
        moves = " OR ".join(f'NEW."{name}" IS DISTINCT FROM OLD."{name}"' for name in self.columns)
        return f"""
            IF {moves} THEN
                IF NOT ({self._follows_log(model)}) THEN {self._raise(model)} END IF;
            END IF;
            RETURN NEW;
        """

    def sqlite_statements(self, model: ModelClass) -> dict[str, str]:
        moves = " OR ".join(f'NEW."{name}" IS NOT OLD."{name}"' for name in self.columns)
        columns = ", ".join(f'"{name}"' for name in self.columns)
        when = f"({moves}) AND NOT ({self._follows_log(model)})"
        return self._sqlite_refusal(model, f"UPDATE OF {columns}", when=when)

    def _follows_log(self, model: ModelClass) -> str:
        log = model._meta.apps.get_model(model._meta.app_label, "Event")._meta.db_table
        return (
            'NEW."head_seq" = OLD."head_seq" + 1 AND EXISTS ('
            f'SELECT 1 FROM "{log}" WHERE "workspace_id" = NEW."id" AND "seq" = NEW."head_seq" '
            'AND "chain" = NEW."head_chain" AND "at" = NEW."last_event_at")'
        )


class NextSeq(Guarantee):
    """The insert of an event moves its workspace's head on by one, or fails."""

    when = pgtrigger.After
    operation = pgtrigger.Insert

    def __init__(self) -> None:
        super().__init__(name="next_seq")

    def message(self, model: ModelClass) -> str:
        return f"artifactr: seq in {model._meta.db_table} is not next in its workspace"

    def get_func(self, model: ModelClass) -> str:
        return f"""
            {self._move_head(model)};
            IF NOT FOUND THEN {self._raise(model)} END IF;
            RETURN NULL;
        """

    def sqlite_statements(self, model: ModelClass) -> dict[str, str]:
        # Inside a trigger, changes() counts what the trigger's own last statement changed.
        name = self.get_pgid(model)
        return {
            name: f'CREATE TRIGGER "{name}" AFTER INSERT ON "{model._meta.db_table}" FOR EACH ROW '
            f"BEGIN {self._move_head(model)}; "
            f"SELECT RAISE(ABORT, '{self.message(model)}') WHERE changes() <> 1; END"
        }

    def _move_head(self, model: ModelClass) -> str:
        workspaces = model._meta.get_field("workspace").related_model._meta.db_table
        return (
            f'UPDATE "{workspaces}" SET "head_seq" = NEW."seq", '
            '"head_chain" = NEW."chain", "last_event_at" = NEW."at" '
            'WHERE "id" = NEW."workspace_id" AND "head_seq" = NEW."seq" - 1'
        )


def append_only(*, erasable: Iterable[str] = ()) -> Guarantee:
    """Inserted once, for good; only an erasure may empty the `erasable` columns."""
    return KeepRows(name="append_only", erasable=erasable)


def final(field: str, *, while_: str, erasable: Iterable[str] = ()) -> Guarantee:
    """Free while `field` has the value `while_`, then for good."""
    return KeepRows(name="final", field=field, while_=while_, erasable=erasable)


def monotonic(field: str) -> Guarantee:
    return Monotonic(field=field)


def log_head() -> Guarantee:
    return LogHead()


def next_seq() -> Guarantee:
    return NextSeq()
