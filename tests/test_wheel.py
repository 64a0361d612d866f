"""The wheel and the sdist: what a user installs is complete, and does the main job outside a checkout.

The interpreters that SALIENCE_PYTHONS names, separated by spaces, get empty environments, into which pip installs the
wheel and all that it needs (`make test-wheel`). Without them, an environment takes the packages of this one.
"""

import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import families
from salience import METHODS, __version__

pytestmark = pytest.mark.whole

ROOT = Path(__file__).parents[1]
PYTHONS = os.environ.get("SALIENCE_PYTHONS", "").split()
LENT = "packages of this environment"


def run(*command: str | Path, **options) -> str:
    """What a command prints; its error stream is shown where it fails."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600, **options)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel and everything that it needs."""

    folder: Path

    def salience(self, *arguments: str | Path) -> str:
        """Runs the command of the environment in a folder of its own, without a path to the checkout."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        work = self.folder.parent / "work"
        work.mkdir(exist_ok=True)
        return run(self.folder / "bin" / "salience", *arguments, cwd=work, env=environment)

    def python(self, script: str) -> str:
        """Runs a script by the interpreter of the environment."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return run(self.folder / "bin" / "python", "-c", script, cwd=self.folder, env=environment)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    """The sdist of the checkout, and the wheel that is built from the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder, cwd=ROOT)
    (sdist,) = folder.glob("*.tar.gz")
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", folder, sdist)
    (wheel,) = folder.glob("*.whl")
    return {"sdist": sdist, "wheel": wheel}


@pytest.fixture(scope="module", params=PYTHONS or [LENT])
def installed(request, built, tmp_path_factory) -> Installed:
    folder = tmp_path_factory.mktemp("installed") / "environment"
    if request.param == LENT:
        install_beside_this_environment(built["wheel"], folder)
    else:
        run(request.param, "-m", "venv", folder)
        run(
            folder / "bin" / "pip", "install", "--no-compile", "--constraint", ROOT / "constraints.txt", built["wheel"]
        )
    return Installed(folder)


def install_beside_this_environment(wheel: Path, folder: Path) -> None:
    """Makes an environment with the wheel, which finds all other packages in this environment."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    run(
        sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--no-deps", "--no-index", wheel
    )
    (packages,) = folder.glob("lib/python*/site-packages")
    # Paths of a .pth file are not searched for further .pth files, so that an editable salience is not found.
    places = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *extra_places()]
    (packages / "of_the_tests.pth").write_text("\n".join(dict.fromkeys(places)) + "\n", encoding="utf-8")


def extra_places() -> list[str]:
    """Further folders of packages of this environment."""
    return [place for place in sys.path if place.endswith(("site-packages", "dist-packages"))]


def test_the_sdist_has_all_that_a_packager_needs(built):
    with tarfile.open(built["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "docs/methods/ssmix.md", "tests/conftest.py",
            "examples/banking_train.csv", "src/salience/py.typed"} <= names  # fmt: skip


def test_the_wheel_has_every_file_of_the_package_and_its_data(built):
    with zipfile.ZipFile(built["wheel"]) as archive:
        names = set(archive.namelist())
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith(".dist-info/METADATA"))
    source = ROOT / "src" / "salience"
    own = {
        f"salience/{file.relative_to(source).as_posix()}"
        for file in source.rglob("*") if file.is_file() and "__pycache__" not in file.parts
    }  # fmt: skip
    cards = {f"salience/cards/{file.name}" for file in (ROOT / "docs" / "methods").iterdir()}
    rows = {f"salience/examples/{file.name}" for file in (ROOT / "examples").iterdir()}
    assert {name for name in names if ".dist-info/" not in name} == own | cards | rows
    assert "Requires-Python: >=3.11" in metadata
    assert all(f"Classifier: Programming Language :: Python :: 3.{minor}" in metadata for minor in (11, 12, 13))


def test_an_installed_package_runs_outside_the_checkout(installed):
    assert installed.salience("--version") == f"salience {__version__}\n"
    where = Path(installed.python("import salience; print(salience.__file__, end='')"))
    assert installed.folder in where.parents
    listed = installed.salience("methods").splitlines()
    assert sorted(line.split()[0] for line in listed[1 : 1 + len(METHODS)]) == sorted(METHODS)
    assert installed.salience("methods", "ssmix").startswith("# ssmix\n")


def test_an_installed_package_does_the_main_job(installed, tmp_path):
    """Training, with the templates of the card and of the report, on the rows that the package brings."""
    installed.salience("demo-data", tmp_path / "banking")
    rows = [tmp_path / "banking" / f"banking_{part}.csv" for part in ("train", "test")]
    model = families.save_tiny_model(tmp_path / "tiny", [rows[0].read_text(encoding="utf-8")], classes=2)
    answer = installed.salience(
        "train", rows[0], "--test", rows[1], "--model", model, "--steps", "2", "--estimate", "none", "--device", "cpu",
        "--output", tmp_path / "run",
    )  # fmt: skip
    assert "report: " in answer and "cannot" not in answer
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))
    assert 0 <= metrics["test"]["accuracy"] <= 1
    assert "</style>" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "run" / "README.md").is_file()
