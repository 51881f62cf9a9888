"""SANs with a switch that is not read, and a host that counts the bytes of its own ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sanpath.model import Scalar
from sanpath_collectors.linux_host.tables import HBA
from tests.support.recording import Number, RecordingBuilder
from tests.support.san import San

COUNTED_BYTES = 32 * 2076.0
"""Bytes that Fibre Channel ports count for 64 KiB."""


@dataclass(slots=True)
class HalfRead(San):
    """A SAN in which sw2, to which the array is attached, is not read."""

    def _switch(self, out: RecordingBuilder, name: str, last: float) -> None:
        if name != "sw2":
            San._switch(self, out, name, last)


@dataclass(slots=True)
class FarSwitchRead(San):
    """A SAN in which sw1, to which the host is attached, is not read. sw2 reports the target ports at its ports."""

    def _switch(self, out: RecordingBuilder, name: str, last: float) -> None:
        if name != "sw2":
            return
        San._switch(self, out, name, last)
        for port in self.ports:
            if port.on == name and not port.host:
                out.entity(name, "array_port", port.wwpn, ids={"wwpn": (port.wwpn,)})


@dataclass(slots=True)
class CountingHost(HalfRead):
    """The host's ports count the bytes that they read, an equal part each. `silent`: they do not. `about`: their
    attributes."""

    silent: bool = False
    about: Mapping[str, Scalar] = field(default_factory=dict)

    def _configuration(self, out: RecordingBuilder) -> None:
        San._configuration(self, out)
        for port in self.ports:
            about: dict[str, Scalar] = {
                "speed_bits_per_second": 1e9 * (port.speed or 0),
                "technology": "fibre_channel",
            }
            if port.on == "sw1":
                out.entity("config", "switch_port", f"sw1/{port.name}", attributes=about)
        if self.silent:
            return
        out.source("esx7", "linux_host", HBA)
        initiators = [port for port in self.ports if port.host]
        for port in initiators:
            out.entity("esx7", "hba", port.device, port.device, {"wwpn": (port.wwpn,)}, self.about)
        for second in range(int(self.steps[-1].end + 2)):
            elapsed = [max(0.0, min(second, step.end) - step.begin) for step in self.steps]
            reads = sum(step.flows["read"].ops * s for step, s in zip(self.steps, elapsed, strict=True))
            moved: dict[str, Number] = {
                "bytes_rx_total": round(reads * COUNTED_BYTES / len(initiators)),
                "bytes_tx_total": 0,
                "link_up": 1,
            }
            out.poll("esx7", second)
            speeds = {port.device: 1e9 * (port.speed or 0) for port in initiators}
            out.samples(
                "esx7", HBA, second, {d: moved | {"link_speed_bits_per_second": bits} for d, bits in speeds.items()}
            )


@dataclass(slots=True)
class SpeedOfInitiator(San):
    """A SAN whose initiators report the speed at which they run. `is_reported`: they do."""

    is_reported: bool = True

    def _configuration(self, out: RecordingBuilder) -> None:
        San._configuration(self, out)
        for port in self.ports if self.is_reported else ():
            if port.host:
                about: dict[str, Scalar] = {"speed_bits_per_second": 1e9 * (port.speed or 0)}
                out.source(port.host, "linux_host")
                out.entity(port.host, "hba", port.device, ids={"wwpn": (port.wwpn,)}, attributes=about)
