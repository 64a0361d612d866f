"""Names of devices, for what was measured on them."""

from __future__ import annotations

import platform
from pathlib import Path

import torch

CPU_INFO = Path("/proc/cpuinfo")


def device_name(device: torch.device) -> str:
    """The name of a GPU, as "NVIDIA H100 80GB HBM3", or of the processor.

    Args:
        device: as of `choose_device`.
    """
    return torch.cuda.get_device_name(device) if device.type == "cuda" else processor_name()


def processor_name() -> str:
    """The name of the processor, as "AMD EPYC 7B13"; its architecture where the system does not tell the name."""
    lines = CPU_INFO.read_text().splitlines() if CPU_INFO.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
