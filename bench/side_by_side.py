"""Times contestants alternately in one process, so that a noisy machine disturbs all of them alike.

The scripts of this folder use it; it has no command of its own. The ratio to trust is the median of the paired
ratios: each pair was measured within the same seconds.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from salience.papers.table import processor_name

PACKAGES = ("torch", "transformers", "tokenizers", "salience")
# The processor's time, of all threads together, hardly depends on other work; it is of use with --threads 1.
CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


@dataclass(frozen=True)
class Spread:
    """The median of some values, their quartiles and their extremes."""

    median: float
    quartiles: tuple[float, float]
    extremes: tuple[float, float]

    @classmethod
    def of(cls, values: list[float]) -> Spread:
        lower, _, upper = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else values * 3
        return cls(statistics.median(values), (lower, upper), (min(values), max(values)))

    def __str__(self) -> str:
        ranges = (f"{low:.3f} .. {high:.3f}" for low, high in (self.quartiles, self.extremes))
        return f"{self.median:9.3f}   " + "".join(f"{text:20}" for text in ranges).rstrip()


@dataclass(frozen=True)
class Comparison:
    """The seconds of every contestant, round by round; the first is the one that the others are compared with."""

    seconds: dict[str, list[float]]

    def in_blocks(self, size: int) -> Comparison:
        """`size` successive rounds taken as one, by their mean."""
        starts = range(0, len(next(iter(self.seconds.values()))), size)
        return Comparison(
            {name: [sum(own[start : start + size]) / size for start in starts] for name, own in self.seconds.items()}
        )

    def per(self, amount: float) -> Comparison:
        """The seconds for one of `amount` units that a round got through."""
        return Comparison({name: [value / amount for value in own] for name, own in self.seconds.items()})

    def ratios(self) -> dict[str, dict]:
        """How many times the first contestant's seconds each of the others took."""
        base, *others = self.seconds.values()
        return {
            name: {
                "paired": Spread.of([value / other for value, other in zip(own, base, strict=True)]),
                "of_medians": statistics.median(own) / statistics.median(base),
                "of_totals": sum(own) / sum(base),
            }
            for name, own in zip(list(self.seconds)[1:], others, strict=True)
        }

    def show(self, title: str, unit: str = "seconds") -> None:
        first = next(iter(self.seconds))
        print(f"\n{title}; {len(self.seconds[first])} rounds\n{'':36}   median   quartiles           extremes")
        for name, own in self.seconds.items():
            print(f"{name + ', ' + unit:36}{Spread.of(own)}")
        for name, ratio in self.ratios().items():
            print(f"{name + ' / ' + first + ', paired':36}{ratio['paired']}")
            print(f"{'':36}ratio of medians {ratio['of_medians']:.3f}, of totals {ratio['of_totals']:.3f}")

    def as_json(self) -> dict:
        ratios = {name: ratio | {"paired": asdict(ratio["paired"])} for name, ratio in self.ratios().items()}
        spreads = {name: asdict(Spread.of(own)) for name, own in self.seconds.items()}
        return {"rounds": self.seconds, "seconds": spreads, "compared_with": next(iter(spreads)), "ratios": ratios}


def alternate(contestants: dict[str, Callable[[int], object]], rounds: int, clock: str = "wall") -> Comparison:
    """Runs every contestant once a round with the round's number, in the reverse order every other round."""
    now = CLOCKS[clock]
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds):
        for name in list(contestants)[:: 1 if number % 2 == 0 else -1]:
            start = now()
            contestants[name](number)
            if torch.cuda.is_available():
                torch.cuda.synchronize()  # what was left to do on the GPU counts
            seconds[name].append(now() - start)
    return Comparison(seconds)


def parser(description: str) -> ArgumentParser:
    """A parser with the options that every script has."""
    arguments = ArgumentParser(description=description.partition("\n")[0])
    arguments.add_argument("--json", type=Path, metavar="FILE", help="write the measurements there too")
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--threads", type=int, help="of torch; fewer than cores where other work is running")
    arguments.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    return arguments


def prepare(options: Namespace) -> dict[str, object]:
    """Sets the threads, and tells and returns what the numbers depend on."""
    if options.threads:
        torch.set_num_threads(options.threads)
    machine = {
        "cpu": processor_name(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "load_before": round(os.getloadavg()[0], 2),  # other work on the machine
        "python": platform.python_version(),
        **{name: installed(name) for name in PACKAGES},
    }
    print(", ".join(f"{name} {value}" for name, value in machine.items()))
    return machine


def installed(package: str) -> str | None:
    """Its version; None where its sources are run without being installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def save(options: Namespace, machine: dict, results: dict) -> None:
    """Writes the results, where they are wanted, with the machine and the settings, but no path of the machine."""
    if options.json is not None:
        settings = {name: value for name, value in vars(options).items() if not isinstance(value, Path)}
        options.json.write_text(json.dumps({"machine": machine, "settings": settings} | results, indent=2) + "\n")
