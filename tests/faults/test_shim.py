"""The shim sees what every library that we write with does to files, and its faults reach them."""

import subprocess
import sys

import pytest

from faults.server import FAULTS, compiled_shim

pytestmark = pytest.mark.whole

# Each writes a file named sys.argv[1]; the libraries behind them are written in C, C++, Rust.
WRITERS = {
    "python": "open(file, 'w').write('x' * 9999)",
    "unbuffered": "import os; os.write(os.open(file, os.O_CREAT | os.O_WRONLY), b'x' * 9999)",
    "copy": "import shutil; shutil.copyfile(sys.executable, file)",
    "torch": "import torch; torch.save(torch.ones(9999), file)",
    "safetensors": "import torch, safetensors.torch; safetensors.torch.save_file({'a': torch.ones(9999)}, file)",
    "tokenizers": "import tokenizers; tokenizers.Tokenizer(tokenizers.models.BPE()).save(file)",
    "pyarrow": "import pyarrow, pyarrow.parquet; "
               "pyarrow.parquet.write_table(pyarrow.table({'a': range(9999)}), file)",
}  # fmt: skip
PROGRAM = """
import ctypes, sys
file = sys.argv[1]
{imports}
library = ctypes.CDLL(None)
print(library.fault_arm(sys.argv[2].encode(), ctypes.c_long(int(sys.argv[3])), int(sys.argv[4]), sys.argv[5].encode()))
{write}
"""


@pytest.fixture(scope="module")
def shim(tmp_path_factory):
    return compiled_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def write(shim, tmp_path):
    """Runs a writer with a fault; gives the process, the operations and the folder that was written in."""
    root, log = tmp_path / "root", tmp_path / "log"
    root.mkdir()

    def run(writer: str, fault: str, number: int = 1):
        code = WRITERS[writer]
        imports = code.partition(";")[0] if code.startswith("import") else ""
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM.format(imports=imports, write=code), str(root / "file"), str(root),
             str(number), str(FAULTS[fault]), str(log)],
            env={"LD_PRELOAD": str(shim)}, capture_output=True, text=True,
        )  # fmt: skip
        return ended, log.read_text().splitlines(), root

    return run


@pytest.mark.parametrize("writer", WRITERS)
def test_bytes_are_counted_and_a_full_disk_is_full(write, writer):
    ended, operations, root = write(writer, "none")
    assert ended.returncode == 0, ended.stderr
    size = (root / "file").stat().st_size
    assert sum(int(line.split()[3]) for line in operations if line.split()[1] == "d") >= size > 0
    assert ended.stdout == "0\n" and (writer != "safetensors" or " rename " in operations[-1])
    (root / "file").unlink()
    ended, _, _ = write(writer, "full")
    assert ended.returncode == 1
    assert not list(root.iterdir())


def test_a_kill_comes_before_and_a_torn_write_ends_in_the_middle(write):
    ended, _, root = write("unbuffered", "kill", 2)
    assert ended.returncode == -9 and (root / "file").stat().st_size == 0
    (root / "file").unlink()
    ended, _, root = write("unbuffered", "torn", 2)
    assert ended.returncode == -9 and (root / "file").stat().st_size == 9999 // 2


def test_a_full_disk_shortens_a_write_and_refuses_the_next(write):
    ended, _, root = write("python", "full", 2)
    assert ended.returncode == 1 and "No space left on device" in ended.stderr
    assert 0 < (root / "file").stat().st_size < 9999


def test_a_permission_is_refused_once(write):
    ended, _, root = write("python", "denied", 1)
    assert ended.returncode == 1 and "PermissionError" in ended.stderr and not list(root.iterdir())


def test_without_a_compiler_it_says_so(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(RuntimeError, match="install gcc"):
        compiled_shim(tmp_path)
