"""Where I/Os are lost, if only the ends of TCP connections count it."""

from __future__ import annotations

from pathlib import Path

from sanpath_collectors.linux_host.tables import HBA
from tests.scenarios.test_tcp_connections import (
    CONNECTION,
    LOSS,
    OF_INITIATOR,
    OF_TARGET,
    PORTS,
    TcpSan,
    plateau,
)
from tests.support.recording import Number, RecordingBuilder

LOSSLESS = "192.0.2.4--192.0.2.9:4420"


def test_loss_that_only_tcp_counts_may_be_on_any_link_of_the_path(tmp_path: Path) -> None:
    """Every end of a link is read, and none counts a damaged frame."""

    class HostPortRead(TcpSan):
        def _configuration(self, out: RecordingBuilder) -> None:
            TcpSan._configuration(self, out)
            out.source("esx7-ports", "linux_host", HBA)
            out.entity("esx7-ports", "hba", "eth0", ids={"wwpn": (PORTS[0].wwpn,)})
            for second in range(int(self.steps[-1].end + 2)):
                out.samples("esx7-ports", HBA, second, {"eth0": {"errors_rx_total": 0}})

    found = plateau(tmp_path / "a", LOSS, of=HostPortRead)
    (bottleneck,) = found.verdict.bottlenecks
    assert bottleneck.kind == "retries"
    links = ["link:esx7/eth0--sw1/eth1/7", "link:sw1/eth1/1--fa1/eth0"]
    assert sorted([bottleneck.entity, *bottleneck.coincident]) == links
    assert found.summary.verdict.startswith("One of 2 links loses frames")


def test_a_connection_that_retransmits_nothing_is_not_where_it_was_lost(tmp_path: Path) -> None:
    """No port is read. Of two connections the one named first carries half of the load without loss."""

    class SecondConnection(TcpSan):
        def _configuration(self, out: RecordingBuilder) -> None:
            TcpSan._configuration(self, out)
            about = {"initiator_address": "192.0.2.4", "portal": "192.0.2.9:4420", "protocol": "nvme_tcp"}
            for source, table in (("esx7", OF_INITIATOR), ("srv", OF_TARGET)):
                out.entity(source, "tcp_connection", LOSSLESS, LOSSLESS, {"name": (LOSSLESS,)}, about)
                for second in range(int(self.steps[-1].end + 2)):
                    values = self._connection(second, source)
                    lossless = {k: 0 if "retransmitted" in k else v for k, v in values.items()}
                    out.samples(source, table, second, {LOSSLESS: lossless})
            out.link("esx7", "ends_at", (("tcp_connection", LOSSLESS), ("host", "esx7")))

        def _connection(self, second: int, source: str) -> dict[str, Number]:
            values = TcpSan._connection(self, second, source)
            return {
                k: v // 2 if isinstance(v, int) and k.startswith(("bytes", "segments")) else v
                for k, v in values.items()
            }

    found = plateau(tmp_path / "a", LOSS, of=SecondConnection, leave_out=frozenset({"switch"}), ports=())
    named = {bottleneck.entity: bottleneck.coincident for bottleneck in found.verdict.bottlenecks}
    assert named == {CONNECTION: ()}
    assert "link" not in found.summary.verdict
