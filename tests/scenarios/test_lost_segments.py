"""Two connections over two fabrics, of which one loses segments, or has them queue."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from sanpath.views.first_screen import off_path_text
from sanpath_collectors.linux_host.tables import TCP_CONNECTION as OF_INITIATOR
from sanpath_collectors.linux_target.tables import TCP_CONNECTION as OF_TARGET
from tests.scenarios.test_tcp_connections import LOSS, PAIR, PORTS, Tcp, TcpSan, plateau
from tests.support.recording import RecordingBuilder

OTHER_PAIR = "192.0.2.6--192.0.2.10:4420"
TWO_FABRICS = (
    *PORTS,
    replace(PORTS[0], name="eth1/8", device="eth1", wwpn="21000024ff000002", speed=100, on="sw2"),
    replace(PORTS[1], name="eth1/2", device="eth1", wwpn="524a937000000002", speed=100, on="sw2"),
)


class OnTwoFabrics(TcpSan):
    """Another connection has ports of its own, loses `other_lost` and has a round trip of `other_round_trip`; the
    lossy one is over eth1 and sw2. `with_known_ends`: the connections whose ports are known."""

    other_lost: float = 0.0
    other_round_trip: float = LOSS.round_trip
    with_known_ends: Collection[str] = (PAIR, OTHER_PAIR)

    def _configuration(self, out: RecordingBuilder) -> None:
        TcpSan._configuration(self, out)
        assert self.tcp is not None
        lossy, self.tcp = self.tcp, replace(self.tcp, lost=self.other_lost, round_trip=self.other_round_trip)
        about = {"initiator_address": "192.0.2.6", "portal": "192.0.2.10:4420", "protocol": "nvme_tcp"}
        for source, table in (("esx7", OF_INITIATOR), ("srv", OF_TARGET)):
            out.entity(source, "tcp_connection", OTHER_PAIR, OTHER_PAIR, {"name": (OTHER_PAIR,)}, about)
            for second in range(int(self.steps[-1].end + 2)):
                out.samples(source, table, second, {OTHER_PAIR: self._connection(second, source)})
        self.tcp = lossy
        for pair, port in ((PAIR, "eth1"), (OTHER_PAIR, "eth0")):
            if pair not in self.with_known_ends:
                continue
            out.configure_link(f"tcp_connection:{pair} ends_at hba:esx7/{port}")
            out.configure_link(f"tcp_connection:{pair} ends_at array_port:fa1/{port}")


def test_the_links_of_a_connection_without_lost_segments_lost_none(tmp_path: Path) -> None:
    """The busier links are those of the other connection."""
    (bottleneck, *_) = plateau(tmp_path / "a", LOSS, of=OnTwoFabrics, ports=TWO_FABRICS).verdict.bottlenecks
    assert bottleneck.kind == "retries"
    assert all("sw2/" in entity for entity in bottleneck.elements)


@pytest.mark.parametrize(("others_share", "is_innocent"), [(0.02, True), (0.5, False)])
def test_a_connection_that_loses_far_less_than_another_crosses_no_lossy_link(
    tmp_path: Path, others_share: float, is_innocent: bool
) -> None:
    class BothLose(OnTwoFabrics):
        other_lost = others_share * LOSS.lost

    (bottleneck, *_) = plateau(tmp_path / "a", LOSS, of=BothLose, ports=TWO_FABRICS).verdict.bottlenecks
    assert all("sw2/" in entity for entity in bottleneck.elements) == is_innocent


def test_a_connection_ends_at_the_initiator_that_has_its_address(tmp_path: Path) -> None:
    class ByAddress(OnTwoFabrics):
        with_known_ends = ()

        def _configuration(self, out: RecordingBuilder) -> None:
            super()._configuration(out)
            for port, address in (("eth1", "192.0.2.5"), ("eth0", "192.0.2.6")):
                out.entity("esx7", "hba", port, f"esx7/{port}", {"ip": (address,)})

    (bottleneck, *_) = plateau(tmp_path / "a", LOSS, of=ByAddress, ports=TWO_FABRICS).verdict.bottlenecks
    assert all("sw2/" in entity for entity in bottleneck.elements)


def test_links_of_the_other_fabric_lost_nothing_where_that_of_the_lossy_connection_is_not_read(
    tmp_path: Path,
) -> None:
    """sw2, which the connection with lost segments crosses, is not read."""

    class Unread(OnTwoFabrics):
        def _configuration(self, out: RecordingBuilder) -> None:
            super()._configuration(out)
            out.entity("config", "hba", "esx7/eth1")
            out.configure_link("hba:esx7/eth1 attached_to host:esx7")
            out.entity("config", "array_port", "fa1/eth1")

    (bottleneck, *_) = plateau(tmp_path / "a", LOSS, of=Unread, ports=PORTS).verdict.bottlenecks
    assert (bottleneck.kind, bottleneck.elements) == ("retries", (f"tcp_connection:{PAIR}",))


def test_no_link_is_innocent_if_the_ends_of_a_lossy_connection_are_unknown(tmp_path: Path) -> None:
    """The other one loses a ninth of its share, and its ends are known."""

    class OneUnknown(OnTwoFabrics):
        other_lost = 0.11 * LOSS.lost
        with_known_ends = (OTHER_PAIR,)

    (bottleneck, *_) = plateau(tmp_path / "a", LOSS, of=OneUnknown, ports=TWO_FABRICS).verdict.bottlenecks
    assert any("sw2/" in entity for entity in bottleneck.elements)


def test_links_that_may_lose_frames_are_not_called_saturated(tmp_path: Path) -> None:
    class OnTwoLossyFabrics(OnTwoFabrics):
        other_lost = LOSS.lost

    text = off_path_text(plateau(tmp_path / "a", LOSS, of=OnTwoLossyFabrics, ports=TWO_FABRICS))
    assert text is not None
    assert text.startswith("As likely, on other paths: ")


def test_frames_on_a_lossy_link_wait_for_no_saturated_link(tmp_path: Path) -> None:
    found = plateau(tmp_path / "a", LOSS)
    assert [bottleneck.kind for bottleneck in found.verdict.bottlenecks] == ["retries"]
    waits = [part.what for budget in found.latency_budget for part in budget.parts if part.layer == "fabric"]
    assert any("waits until what was lost is sent again" in what for what in waits), waits
    assert not any("saturated" in what for what in waits)


@pytest.mark.parametrize(("other_round_trip", "named"), [(0.3e-3, PAIR.replace("--", " - ")), (12e-3, "between")])
def test_of_two_connections_that_is_named_on_whose_way_segments_queue(
    tmp_path: Path, other_round_trip: float, named: str
) -> None:
    """A round trip of 12 ms out of 0.2 on links that are used to a sixth, and one of 0.3 or of 12 ms."""

    class Shaped(OnTwoFabrics):
        pass

    Shaped.other_round_trip = other_round_trip
    shaped = Tcp(12e-3, 0.2e-3, waiting=0.2, busy=1.0, congestion_window=4e6)
    found = plateau(tmp_path / "a", shaped, of=Shaped, ports=TWO_FABRICS)
    assert found.verdict.kind == "cannot_tell"
    assert f"most likely the network {named}" in found.summary.verdict.replace("network of ", "network ")
