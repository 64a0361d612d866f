"""The most memory that a call holds at one time. The scripts of this folder use it; it has no command of its own."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile


def peak_of(call: Callable[[], object], device: str = "cpu") -> int:
    """The most bytes that `call` holds at one time of what it allocates itself; what lay there before is not counted.

    On the CPU every allocation and release of torch's allocator is added up in their order, so that activations kept
    for the backward pass and what a kernel needs for itself count as they do on CUDA, whose allocator keeps the count.
    """
    gc.collect()  # nothing old is released while `call` runs
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        call()
        torch.cuda.synchronize()
        return torch.cuda.max_memory_allocated() - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        call()
    return highest(allocations(profiled))


def allocations(profiled: profile) -> list[tuple[int, int]]:
    """Address and bytes of everything allocated (above 0) and released (below 0), in the order in which it was."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        profiled.export_chrome_trace(str(file))
        events = [event for event in json.loads(file.read_text())["traceEvents"] if event["name"] == "[memory]"]
    ordered = sorted(events, key=lambda event: event["ts"])
    return [(event["args"]["Addr"], event["args"]["Bytes"]) for event in ordered]


def highest(changes: list[tuple[int, int]]) -> int:
    """The largest sum of what is held; a release of what was not allocated here changes nothing."""
    held: dict[int, int] = {}
    now = most = 0
    for address, size in changes:
        if size > 0:
            held[address] = size
            now += size
        else:
            now -= held.pop(address, 0)
        most = max(most, now)
    return most


def bytes_of(tensors: list[Tensor]) -> int:
    """The bytes of the tensors' storages, each counted once."""
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage() for tensor in tensors}
    return sum(storage.nbytes() for storage in storages.values())
