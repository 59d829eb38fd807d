"""The suite on every supported Python of this machine, each in its own environment from the lock.

`python -m tests.matrix [--only "3.11 3.13"] [-- pytest arguments]`. The lock gives each Python the
newest Django that it runs: 5.2 on 3.11, later ones above.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
LATEST_TRIED = 16
PROBE = "import json, sys, venv, ensurepip; print(json.dumps([*sys.version_info[:2]]))"


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.matrix")
    parser.add_argument("--only", default="", help="versions, separated by spaces")
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    found = find_pythons(options.only.split())
    if not found:
        print("no supported Python found", file=sys.stderr)
        return 1
    print("Pythons:", ", ".join(found), flush=True)
    failed = [
        version for version in found if not passes(found[version], version, options.arguments)
    ]
    print("Failed on: " + ", ".join(failed) if failed else "All passed", flush=True)
    return 1 if failed else 0


def find_pythons(only: list[str]) -> dict[str, Path]:
    """Map each version to one interpreter that really runs; a shim may exist and fail."""
    names = [f"python3.{minor}" for minor in range(OLDEST[1], LATEST_TRIED)]
    candidates = [Path(found) for found in map(shutil.which, names) if found]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates += sorted(pyenv.glob("versions/*/bin/python3"))
    runs: dict[tuple[int, int], Path] = {}
    for path in [Path(sys.executable), *candidates]:
        if version := _version(path):
            runs.setdefault(version, path)
    ordered = {f"{major}.{minor}": path for (major, minor), path in sorted(runs.items())}
    return {name: path for name, path in ordered.items() if not only or name in only}


def _version(path: Path) -> tuple[int, int] | None:
    probe = subprocess.run([path, "-c", PROBE], capture_output=True, check=False, text=True)
    if probe.returncode:
        return None
    major, minor = json.loads(probe.stdout)
    return (major, minor) if (major, minor) >= OLDEST else None


def passes(python: Path, version: str, arguments: list[str]) -> bool:
    """Build that version's environment when the lock is newer, then run both passes in it."""
    folder, lock = ROOT / ".venvs" / version, ROOT / "requirements.lock"
    stamp, inside = folder / ".from-lock", folder / "bin" / "python"
    if not stamp.exists() or stamp.stat().st_mtime < lock.stat().st_mtime:
        print(f"== Building {folder.relative_to(ROOT)}", flush=True)
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
        install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([inside, *install, "-r", lock], check=True)
        stamp.touch()
    django = subprocess.run(
        [inside, "-m", "django", "--version"], capture_output=True, check=True, text=True
    ).stdout.strip()
    print(f"== Python {version}, Django {django}", flush=True)
    suite = subprocess.run([inside, "-m", "tests.run", *arguments], check=False, cwd=ROOT)
    return suite.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
