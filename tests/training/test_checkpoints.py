"""What libraries raise where a checkpoint cannot be written becomes the system's error, by which it is explained."""

import errno

import pytest

from salience.training.callbacks import using_files

# The texts are those of torch 2.13, safetensors 0.8 and tokenizers 0.23.
RAISED = {
    "torch, disk full": (
        RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 64 vs 0"), errno.ENOSPC
    ),
    "torch, disk full, small file": (RuntimeError("basic_ios::clear: iostream error"), errno.ENOSPC),
    "torch, denied": (
        RuntimeError("[enforce fail at inline_container.cc:747] . open file failed with strerror: Permission denied"),
        errno.EACCES,
    ),
    "safetensors, denied": (
        RuntimeError("Error while serializing: I/O error: Permission denied (os error 13)"), errno.EACCES
    ),
    "safetensors, disk full": (
        RuntimeError("Error while serializing: I/O error: No space left on device (os error 28)"), errno.ENOSPC
    ),
    "safetensors, denied to read": (
        RuntimeError("unable to open file <model.safetensors> in read-only mode: Permission denied (13)"), errno.EACCES
    ),
    "tokenizers, denied": (Exception("Permission denied (os error 13)"), errno.EACCES),
    "the system itself": (OSError(errno.ENOSPC, "No space left on device", "file"), errno.ENOSPC),
}  # fmt: skip


@pytest.mark.parametrize("case", RAISED)
def test_a_write_that_failed(case):
    raised, number = RAISED[case]
    with pytest.raises(OSError, match=r"No space left|Permission denied") as told, using_files("folder"):
        raise raised
    assert told.value.errno == number
    assert told.value.filename == ("file" if isinstance(raised, OSError) else "folder")


def test_other_errors_stay_what_they_are():
    with pytest.raises(RuntimeError, match="the model is at fault"), using_files("folder"):
        raise RuntimeError("the model is at fault")
