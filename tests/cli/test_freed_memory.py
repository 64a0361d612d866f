"""The command line keeps large blocks of memory that are freed."""

import platform
import subprocess
import sys

import pytest

MEASURED = """
import resource
from salience.cli.main import main

main(["--version"])
for _ in range(2):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    block = b'x' * 2**26
    del block
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no mallopt")
def test_a_block_that_was_freed_is_not_cleared_again():
    found = subprocess.run([sys.executable, "-c", MEASURED], check=True, capture_output=True, text=True).stdout
    first, second = map(int, found.split()[-2:])
    assert first > 1000 > 100 > second  # pages
