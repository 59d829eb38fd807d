"""Environment variables choose: URLs, flags, the key, and what is refused."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from artifactr_site import environment


def test_a_postgresql_url_names_everything() -> None:
    made = environment.database("postgresql://ana:p%40ss@db.example:6432/work?sslmode=require")
    assert made == {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": "work",
        "USER": "ana",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "6432",
        "OPTIONS": {"sslmode": "require"},
    }


def test_a_socket_folder_may_stand_in_the_query() -> None:
    made = environment.database("postgres://ana@/work?host=/run/postgresql")
    assert made["HOST"] == "/run/postgresql"
    assert made["OPTIONS"] == {}


def test_only_a_serving_process_gets_a_pool() -> None:
    url = "postgresql://localhost/work"
    assert "pool" not in environment.database(url)["OPTIONS"]
    assert environment.database(url, pool_size=7)["OPTIONS"]["pool"]["max_size"] == 7


def test_a_sqlite_url_queues_its_writers() -> None:
    made = environment.database("sqlite:////srv/work.sqlite3", pool_size=7)
    assert made["NAME"] == "/srv/work.sqlite3"
    assert made["OPTIONS"]["transaction_mode"] == "IMMEDIATE"
    assert "recursive_triggers=ON" in made["OPTIONS"]["init_command"]
    assert environment.database("sqlite:///work.sqlite3")["NAME"] == "work.sqlite3"


@pytest.mark.parametrize("url", ["mysql://localhost/x", "work.sqlite3", ""])
def test_another_database_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL"):
        environment.database(url)


@pytest.mark.parametrize(
    ("text", "meant"), [("1", True), ("Yes", True), ("off", False), ("0", False), ("", True)]
)
def test_a_flag_is_read(monkeypatch: pytest.MonkeyPatch, text: str, meant: bool) -> None:
    monkeypatch.setenv("DEBUG", text)
    assert environment.flag("DEBUG", default=True) is meant


def test_an_unclear_flag_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG", "maybe")
    with pytest.raises(ImproperlyConfigured, match="DEBUG must be 1 or 0"):
        environment.flag("DEBUG", default=False)


def test_a_development_key_is_made_once_and_kept_private(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("DJANGO_SECRET_KEY", raising=False)
    place = tmp_path / "state" / "key"
    made = environment.secret_key(place, debug=True)
    assert len(made) > 50
    assert environment.secret_key(place, debug=True) == made
    assert place.stat().st_mode & 0o077 == 0


def test_production_needs_a_key_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DJANGO_SECRET_KEY", raising=False)
    with pytest.raises(ImproperlyConfigured, match="DJANGO_SECRET_KEY"):
        environment.secret_key(tmp_path / "key", debug=False)
    monkeypatch.setenv("DJANGO_SECRET_KEY", "given")
    assert environment.secret_key(tmp_path / "key", debug=False) == "given"
    assert not (tmp_path / "key").exists()


def test_many_sockets_fit_the_redis_pool() -> None:
    (host,) = environment.channel_layers("redis://r:1")["default"]["CONFIG"]["hosts"]
    assert host == {"address": "redis://r:1", "max_connections": 1000}
    assert "InMemory" in environment.channel_layers(None)["default"]["BACKEND"]
