"""A predictor whose process is killed once, here, where a process that is started anew can import it."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from salience.classify.predictor import Predictor

DEADLY = "the third window"  # a text


@dataclass(frozen=True)
class KilledOnce(Predictor):
    """Notes the process of every call in a folder, takes some time, and is killed when it first meets `DEADLY`."""

    folder: str = ""

    def answers(self, texts):
        with (Path(self.folder) / "calls").open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(0.3)
        mark = Path(self.folder) / "killed"
        if (DEADLY,) in texts and not mark.exists():
            mark.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().answers(texts)
