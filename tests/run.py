"""The whole suite: one pass on SQLite, one on PostgreSQL with Redis, servers started once for both.

`python -m tests.run [pytest arguments]`; it fails when either pass does.
"""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from types import FrameType

import pytest

from tests.support import servers

MOST_WORKERS = 8
# A pass chooses the first three itself. Without byte code every process compiles all plugins anew,
# which takes longer than most tests.
UNSET = {"DATABASE_URL", "REDIS_URL", "DJANGO_SETTINGS_MODULE", "PYTHONDONTWRITEBYTECODE"}


def main(arguments: list[str]) -> int:
    """Run both passes, also when the first one fails, so that one run shows everything."""
    signal.signal(signal.SIGTERM, _leave)
    with ExitStack() as stack:
        database = stack.enter_context(servers.postgres())
        redis = stack.enter_context(servers.redis())
        first = _run("SQLite", arguments, {"REDIS_URL": redis})
        second = _run(
            "PostgreSQL and Redis",
            [*arguments, "--second-pass"],
            {"REDIS_URL": redis, "DATABASE_URL": database},
        )
    # A selection may leave one pass without tests; only both empty is a mistake.
    ran = [code for code in (first, second) if code != pytest.ExitCode.NO_TESTS_COLLECTED]
    return max(ran, default=pytest.ExitCode.NO_TESTS_COLLECTED)


def _run(name: str, arguments: list[str], urls: dict[str, str]) -> int:
    environment = {key: value for key, value in os.environ.items() if key not in UNSET}
    workers = min(max(os.cpu_count() or 2, 2), MOST_WORKERS)
    command = [sys.executable, "-m", "pytest", "-n", str(workers), "--dist", "loadgroup"]
    print(f"== Tests on {name}", flush=True)
    code = subprocess.run([*command, *arguments], env=environment | urls, check=False).returncode
    if code not in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
        print(f"== Tests on {name} FAILED", file=sys.stderr, flush=True)
    return code


def _leave(_signal: int, _frame: FrameType | None) -> None:
    """Turn a polite kill into an exception, so that the servers are stopped too."""
    raise SystemExit(143)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
