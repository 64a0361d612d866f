"""A small labelled data set, a tiny model for it, and the command line as a user meets it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import families
from browsing import browser  # noqa: F401  a fixture
from exporting import exports_of
from labelled import FILLER, WORDS, labelled_rows, rows_of_several, write_csv
from salience.cli.main import main


@dataclass(frozen=True)
class Place:
    """A folder with data and a model in it."""

    folder: Path
    data: Path
    test: Path
    model: Path

    def train(self, *options: str, data: Path | None = None) -> list[str]:
        """The arguments of a run of a second, without an estimate unless one is named."""
        estimate = () if {"--estimate", "--config"} & {*options} else ("--estimate", "none")
        return ["train", str(data or self.data), "--model", str(self.model), "--steps", "6", "--set", "evaluations=3",
                "--device", "cpu", *estimate, *map(str, options)]  # fmt: skip


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Place:
    folder = tmp_path_factory.mktemp("place")
    texts = [*WORDS.values(), " ".join(FILLER)]
    return Place(
        folder,
        write_csv(folder / "train.csv", labelled_rows(60)),
        write_csv(folder / "test.csv", labelled_rows(30, seed=1)),
        families.save_tiny_model(folder / "tiny", texts, classes=2, dropout=0.1),
    )


@pytest.fixture(scope="session")
def run(place) -> Path:
    """A run folder, for commands about a trained model."""
    folder = place.folder / "run"
    assert main(place.train("--test", place.test, "--estimate", "folds:2", "--output", folder)) == 0
    return folder


@pytest.fixture(scope="session")
def abstaining_run(place, tmp_path_factory):
    """A run whose estimate says that a part of the texts can be decided."""
    folder = tmp_path_factory.mktemp("abstaining")
    rows = [(f"{text} {text} {number}", label) for number, (text, label) in enumerate(labelled_rows(90))]
    data = write_csv(folder / "rows.csv", rows)
    options = ["--test", place.test, "--set", "validation_share=0", "--estimate", "folds:2", "--set",
               "calibrate=true", "--method", "plain", "--learning-rate", "0.02", "--steps", "40",
               "--target-precision", "0.7"]  # fmt: skip
    assert main(place.train(*options, "--output", folder / "run", data=data)) == 0
    return folder / "run"


@pytest.fixture(scope="session")
def exported(run) -> dict[str, Path]:
    """Folders of the exports of the run: in float32, and in int8 whatever it costs."""
    return exports_of(run)


@pytest.fixture(scope="session")
def several_files(tmp_path_factory) -> tuple[Path, Path, Path]:
    """Training rows and test rows whose texts have several labels, and the folder that they are in."""
    folder = tmp_path_factory.mktemp("several")
    return (
        write_csv(folder / "train.csv", rows_of_several(60, 0)),
        write_csv(folder / "test.csv", rows_of_several(24, 1)),
        folder,
    )


@pytest.fixture(scope="session")
def several_run(several_files, place) -> Path:
    """A run folder of a classifier of several labels."""
    data, test, folder = several_files
    options = ["--test", test, "--estimate", "folds:2", "--method", "ssmix", "--steps", "40", "--learning-rate",
               "0.005", "--output", folder / "run"]  # fmt: skip
    assert main(place.train(*options, data=data)) == 0
    return folder / "run"


@pytest.fixture
def reported():
    """For tests of the report: their runs have one."""


@pytest.fixture(scope="module", autouse=True)
def without_pace():
    """Finding out how long a tiny run takes is a fifth of its time; runs say nothing of it, as those by turns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("salience.training.run.measured", lambda prepared, seconds: None)
        yield


@pytest.fixture(autouse=True)
def quick_runs(request, monkeypatch):
    """The report takes half of the time of a tiny run; runs of other tests have none."""
    if "reported" not in request.fixturenames:
        monkeypatch.setattr("salience.cli.report.add_report", lambda folder, name, classifier: None)


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def salience(capsys):
    """Runs a command in this process and gives its exit code and all that it printed."""

    def run(*arguments) -> Answer:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Answer(code, printed.out, printed.err)

    return run
