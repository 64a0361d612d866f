"""The names of devices, as results record them."""

import platform

import pytest
import torch

from salience.papers import datasets as devices
from salience.papers.datasets import device_name, processor_name

TOLD = "processor\t: 0\nmodel name\t: AMD EPYC 7B13\nflags\t\t: avx2\n\nprocessor\t: 1\nmodel name\t: AMD EPYC 7B13\n"


def test_the_processor_is_named_as_the_system_does(tmp_path, monkeypatch):
    file = tmp_path / "cpuinfo"
    file.write_text(TOLD)
    monkeypatch.setattr(devices, "CPU_INFO", file)
    assert processor_name() == device_name(torch.device("cpu")) == "AMD EPYC 7B13"


@pytest.mark.parametrize("text", [None, "processor\t: 0\nHardware\t: BCM2835\n"])
def test_a_processor_without_a_name_has_its_architecture(tmp_path, monkeypatch, text):
    file = tmp_path / "cpuinfo"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(devices, "CPU_INFO", file)
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert processor_name() == platform.machine() != ""


def test_a_gpu_is_named_by_torch(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: f"GPU {device.index}")
    assert device_name(torch.device("cuda", 1)) == "GPU 1"
