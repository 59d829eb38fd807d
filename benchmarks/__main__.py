"""Run the measurements on SQLite and PostgreSQL: `python -m benchmarks [--only NAME] [--quick]`.

Each database gets a process of its own, since Django's settings are chosen once. One JSON object a
line: what was measured, ours and the floors, and the ratio. PostgreSQL runs with fsync on.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.servers import postgres


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgres"], help="only this one")
    parser.add_argument("--only", default="", help="only measurements whose name contains this")
    parser.add_argument("--quick", action="store_true", help="short runs, to see that it works")
    options = parser.parse_args()
    results = [
        _measure(name, options)
        for name in ("sqlite", "postgres")
        if options.database in (None, name)
    ]
    return max(results)


def _measure(database: str, options: argparse.Namespace) -> int:
    arguments = [sys.executable, "-m", "benchmarks.suite", "--only", options.only]
    if options.quick:
        arguments.append("--quick")
    with tempfile.TemporaryDirectory(prefix="artifactr-bench-") as folder:
        if database == "sqlite":
            return _run(arguments, f"sqlite:///{Path(folder) / 'bench.sqlite3'}")
        with postgres(fsync=True) as url:
            return _run(arguments, url)


def _run(arguments: list[str], url: str) -> int:
    environment = {
        **os.environ,
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "benchmarks.settings",
    }
    environment.pop("REDIS_URL", None)
    return subprocess.run(arguments, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
