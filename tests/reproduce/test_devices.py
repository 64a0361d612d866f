"""The names of devices, as results record them."""

import platform

import pytest

from salience.papers import table as devices
from salience.papers.table import processor_name

TOLD = "processor\t: 0\nmodel name\t: AMD EPYC 7B13\nflags\t\t: avx2\n\nprocessor\t: 1\nmodel name\t: AMD EPYC 7B13\n"


def test_the_processor_is_named_as_the_system_does(tmp_path, monkeypatch):
    file = tmp_path / "cpuinfo"
    file.write_text(TOLD)
    monkeypatch.setattr(devices, "CPU_INFO", file)
    assert processor_name() == "AMD EPYC 7B13"


@pytest.mark.parametrize("text", [None, "processor\t: 0\nHardware\t: BCM2835\n"])
def test_a_processor_without_a_name_has_its_architecture(tmp_path, monkeypatch, text):
    file = tmp_path / "cpuinfo"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(devices, "CPU_INFO", file)
    monkeypatch.setattr(platform, "processor", lambda: "")
    assert processor_name() == platform.machine() != ""
