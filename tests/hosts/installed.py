"""A fresh environment that holds the built wheel and exactly what the wheel says it depends on.

Downloading a hundred packages for each run would prove nothing more, so the dependencies are linked
file by file from the environment the tests run in. Only what is reachable from the wheel's own
requirements is linked: a dependency that is not declared is missing there as it would be anywhere.
"""

import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

UV = Path(sys.executable).with_name("uv")


def install(wheel: Path, folder: Path) -> Path:
    """Make the environment in `folder` and give its interpreter."""
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = folder / "lib" / version / "site-packages"
    options = ["--quiet", "--offline", "--no-deps", "--python", python]
    subprocess.run([UV, "pip", "install", *options, wheel], check=True)
    [own] = metadata.distributions(name="django-artifactr", path=[str(packages)])
    for distribution in _closure(own):
        _link(distribution, packages)
    return python


def _closure(root: metadata.Distribution) -> Iterator[metadata.Distribution]:
    """Every distribution that the root requires, directly or not, without its extras."""
    waiting, seen = _requirements(root, frozenset()), set()
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        distribution = metadata.distribution(requirement.name)
        assert requirement.specifier.contains(distribution.version, prereleases=True), requirement
        waiting += _requirements(distribution, frozenset(requirement.extras))
        yield distribution


def _requirements(distribution: metadata.Distribution, extras: frozenset[str]) -> list[Requirement]:
    found = map(Requirement, distribution.requires or ())
    return [
        each
        for each in found
        if each.marker is None
        or any(each.marker.evaluate({"extra": extra}) for extra in (extras or {""}))
    ]


def _link(distribution: metadata.Distribution, packages: Path) -> None:
    installed = Path(sysconfig.get_path("purelib"))
    for file in distribution.files or ():
        # Scripts lie outside; nothing of a host runs them.
        if ".." in file.parts or (packages / file).exists():
            continue
        (packages / file).parent.mkdir(parents=True, exist_ok=True)
        (packages / file).symlink_to(installed / file)
