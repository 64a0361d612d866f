"""Trackers of experiments, such as TensorBoard, which show the losses and scores of runs while they are made.

The Trainer's own callbacks write to them. A tracker is no setting of a recipe: it does not change what is trained.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from salience.errors import InputError, unknown

# Name -> the modules of which the Trainer needs one.
TRACKERS = {
    "tensorboard": ["tensorboard", "tensorboardX"],
    "mlflow": ["mlflow"],
    "wandb": ["wandb"],
    "trackio": ["trackio"],
}
PLACE = "TENSORBOARD_LOGGING_DIR"  # the environment variable from which the Trainer's callback takes the folder


@dataclass(frozen=True)
class Tracking:
    """Where a run is reported.

    Args:
        trackers: names in `TRACKERS`.
        output: the folder of the run. Its name is the name of the run. TensorBoard's files go to logs/NAME beside it,
            or to the folder in TENSORBOARD_LOGGING_DIR. The other trackers have settings of their own for their place,
            and project: MLFLOW_TRACKING_URI, WANDB_DIR, TRACKIO_DIR.
    """

    trackers: Sequence[str] = ()
    output: Path = Path()

    @property
    def run(self) -> str | None:
        """The name of the run; None where nothing is reported."""
        return self.output.name if self.trackers else None

    @contextmanager
    def open(self) -> Iterator[None]:
        """A context in which the Trainer is made and trains. At its end the run is finished in every tracker."""
        before = os.environ.get(PLACE)
        if "tensorboard" in self.trackers and before is None:
            os.environ[PLACE] = str(self.output.parent / "logs" / self.output.name)
        try:
            yield
        finally:
            if before is None:
                os.environ.pop(PLACE, None)
            if "wandb" in self.trackers:  # the others finish with the Trainer; wandb would go on with the same run
                import wandb

                wandb.finish()


UNTRACKED = Tracking()


def check_trackers(names: Sequence[str]) -> None:
    """Checks that trackers are known and installed.

    Raises:
        InputError: one is not; says what to install.
    """
    for name in names:
        if name not in TRACKERS:
            raise unknown("--report-to", name, TRACKERS)
        if not any(find_spec(module) for module in TRACKERS[name]):
            raise InputError(f"--report-to {name}: the package {name} is not installed: pip install {name}")
