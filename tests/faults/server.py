"""Runs commands in forks of one process that has imported everything, with a fault at a chosen file operation.

Importing torch takes seconds, a tiny run a fraction of one. `Server` is what the harness holds; the module started as
a program is the process that it talks to, a line of JSON for each request and each answer.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SHIM = Path(__file__).with_name("shim.c")
FAULTS = {"none": 0, "kill": 1, "torn": 2, "full": 3, "denied": 4}  # their numbers in the shim
LIMIT = 120  # seconds after which a command counts as hanging


@dataclass(frozen=True)
class Operation:
    """A file operation as the shim logged it; `kind` is its class there."""

    number: int
    kind: str
    name: str
    size: int
    path: str


@dataclass(frozen=True)
class Outcome:
    """How a command ended: its exit code (negative: the signal that ended it, None: it hung), and what it said."""

    code: int | None
    out: str
    err: str
    operations: list[Operation]


def compiled_shim(folder: Path) -> Path:
    """The shared library, compiled into `folder`.

    Raises:
        RuntimeError: there is no C compiler, or it fails.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise RuntimeError("the fault harness needs a C compiler: install gcc, so that `cc` is on the PATH")
    library = folder / "shim.so"
    command = [compiler, "-std=gnu17", "-O1", "-shared", "-fPIC", "-o", str(library), str(SHIM), "-ldl"]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode:
        raise RuntimeError(f"{SHIM.name} does not compile:\n{made.stderr}")
    return library


class Server:
    """Commands run in `root`, which is the folder whose file operations count."""

    def __init__(self, place: Path, root: Path):
        self.place, self.root = place, root
        environment = os.environ | {
            "LD_PRELOAD": str(compiled_shim(place)),
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent.parent), *filter(None, sys.path)]),
            "PYTHONHASHSEED": "0",
            "OMP_NUM_THREADS": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "HF_HUB_OFFLINE": "1",
            "ORT_DISABLE_TELEMETRY": "1",  # its threads would not survive a fork
            # What libraries write outside the working folder is written below the root, too.
            "TMPDIR": str(root / "temporary"),
            "HF_HOME": str(root / "cache"),
            "XDG_CACHE_HOME": str(root / "cache"),
            "MPLCONFIGDIR": str(place / "matplotlib"),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "faults.server"], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def run(
        self, arguments: Sequence[str], folder: str, prepare: str = "", number: int = 0, fault: str = "none"
    ) -> Outcome:
        """Runs a command in `folder` below the root, with `fault` at operation `number`.

        `prepare` is a function of the scenarios' module that is called in the child before the command.
        """
        files = {name: self.place / name for name in ("out", "err", "log")}
        for file in files.values():
            file.unlink(missing_ok=True)
        request = {
            "arguments": list(arguments), "root": str(self.root), "folder": str(self.root / folder),
            "prepare": prepare, "number": number, "fault": FAULTS[fault],
        } | {name: str(file) for name, file in files.items()}  # fmt: skip
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError("the process that runs the commands has ended")
        out, err, log = (
            file.read_text(encoding="utf-8", errors="replace") if file.exists() else "" for file in files.values()
        )
        return Outcome(json.loads(answer)["code"], out, err, [read_operation(line) for line in log.splitlines()])

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(60)


def read_operation(line: str) -> Operation:
    number, kind, name, size, path = line.split(" ", 4)
    return Operation(int(number), kind, name, int(size), path)


@contextlib.contextmanager
def serving():
    """A server over an empty root, in a temporary folder that is removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="faults-") as folder:
        place = Path(folder).resolve()
        (place / "root" / "temporary").mkdir(parents=True)
        server = Server(place, place / "root")
        try:
            yield server
        finally:
            server.close()


# ---------------------------------------------------------------------------------------------- the process that forks


def serve() -> None:
    """Answers requests until there are none. Never computes anything itself: threads would not survive a fork."""
    import torch

    import salience.cli.main

    torch.set_num_threads(1)
    for name in ("salience.training.run", "salience.cli.predict", "salience.comparison.comparing", "safetensors"):
        importlib.import_module(name)
    for line in sys.stdin:
        request = json.loads(line)
        gc.freeze()
        child = os.fork()
        if child == 0:
            run_child(request, salience.cli.main.main)
        print(json.dumps({"code": exit_code(child)}), flush=True)
        import_too(Path(request["log"] + ".modules"))


def exit_code(child: int) -> int | None:
    handle = os.pidfd_open(child)
    ended, _, _ = select.select([handle], [], [], LIMIT)
    os.close(handle)
    if not ended:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) if ended else None


def run_child(request: dict, main) -> None:
    """The command, as it would end in a process of its own, its exit handlers included."""
    for name, stream in (("out", sys.stdout), ("err", sys.stderr)):
        file = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, stream.fileno())
        os.close(file)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(request["folder"])
    if request["prepare"]:
        getattr(importlib.import_module("faults.scenarios"), request["prepare"])()
    shim = ctypes.CDLL(None)
    shim.fault_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_char_p]
    if shim.fault_arm(request["root"].encode(), request["number"], request["fault"], request["log"].encode()):
        os._exit(71)  # the kernel lets no calls be trapped here (seccomp)
    code = 70  # an exception that `main` let through
    try:
        code = main(request["arguments"])
    except SystemExit as ending:
        code = ending.code if isinstance(ending.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    Path(request["log"] + ".modules").write_text("\n".join(sys.modules))
    os._exit(code)


def import_too(modules: Path) -> None:
    """Imports what a child had to import, once for all that follow."""
    if modules.exists():
        for name in modules.read_text().split("\n"):
            if name not in sys.modules:
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
        modules.unlink()


if __name__ == "__main__":
    serve()
