"""The simulated SAN with proxies before its devices, and runs of sanpath against it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sanpath.cli.sessions.lab_process import ServedLab, serve_lab
from sanpath_collectors.fio.documents import Documents
from tests.faults.proxies import TcpProxy, UdpProxy, standing_for


@dataclass(frozen=True)
class FaultyLab:
    """`config` reads the devices through the proxies."""

    config: Path
    load: tuple[str, ...]
    switch: UdpProxy
    array: TcpProxy


@contextmanager
def faulty(lab: ServedLab) -> Iterator[FaultyLab]:
    """The lab behind proxies that pass on until they are told to fail."""
    config = read(lab.config)
    switch, array = source(config, "sw1"), source(config, "fa1")
    host, _, port = array["host"].rpartition(":")
    with (
        standing_for(UdpProxy, (switch["host"], switch["port"])) as to_switch,
        standing_for(TcpProxy, (host, int(port))) as to_array,
    ):
        switch["port"] = to_switch.address[1]
        array["host"] = f"{host}:{to_array.address[1]}"
        file = lab.config.with_name("through-proxies.yaml")
        file.write_text(yaml.safe_dump(config))
        yield FaultyLab(file, lab.load, to_switch, to_array)


@contextmanager
def four_gigabit_switch(folder: Path, **load: object) -> Iterator[ServedLab]:
    """The published test, served; `load`: what is different about its load."""
    import sanpath_lab

    scenario = read(Path(sanpath_lab.__file__).parent / "scenarios" / "four-gigabit-switch.yaml")
    scenario["load"] |= load
    file = folder / "scenario.yaml"
    file.write_text(yaml.safe_dump(scenario))
    with serve_lab(str(file), folder / "lab") as lab:
        yield lab


def read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text())
    return found


def source(config: dict[str, Any], name: str) -> dict[str, Any]:
    """The part of a configuration that is about one source."""
    found: dict[str, Any] = next(s for s in config["sources"] if s["name"] == name)
    return found


def measured_seconds(recording: Path, step: str) -> float:
    """For how long the load says that it has measured this step; 0 before it."""
    for output in recording.glob("load/*/output"):
        documents, _ = Documents().feed(output.read_bytes())
        jobs = [job for document in documents[-1:] for job in document["jobs"] if job["jobname"] == step]
        return max((job["read"]["runtime"] / 1000 for job in jobs), default=0.0)
    return 0.0
