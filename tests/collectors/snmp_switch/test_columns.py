"""Which of several columns counts: agents leave columns out, leave them at 0, or write them in another unit."""

from __future__ import annotations

import pytest

from tests.collectors.snmp_switch.small import PROP_VIRTUAL, Objects, port, read


@pytest.mark.parametrize(
    ("if_speed", "if_high_speed", "bits_per_second"),
    [
        (1_000_000_000, 1_000, 1_000_000_000),
        (2**32 - 1, 10_000, 10_000_000_000),  # more than ifSpeed can count
        (1_410_065_408, 10_000, 10_000_000_000),  # ifSpeed has wrapped
        (0, 10_000, 10_000_000_000),
        (100_000_000, None, 100_000_000),
        (1_000_000_000, 0, 1_000_000_000),
        (100_000_000, 100_000_000, 100_000_000),  # ifHighSpeed in bit/s
        (2**32 - 1, 400_000, 400_000_000_000),
        (2**32 - 1, None, None),
        (0, 0, None),
        (None, None, None),
    ],
)
def test_the_speed_of_a_port(if_speed: int | None, if_high_speed: int | None, bits_per_second: int | None) -> None:
    found = read("sw", port(1, "e1", speed=if_speed, high_speed=if_high_speed))
    assert found.ports["e1"].attributes["speed_bits_per_second"] == bits_per_second
    expected = None if bits_per_second is None else bits_per_second // 1_000_000
    assert found.row("e1")["link_speed_bits_per_second"] == expected


def test_the_column_with_the_speed_is_found_when_a_port_comes_up() -> None:
    """Ports that are down name no speed in either column; then one has it in each."""

    def state(up: int, if_speed: int, if_high_speed: int) -> Objects:
        return {
            **port(1, "e1", up=up, speed=if_speed, high_speed=None),
            **port(2, "e2", up=up, speed=0, high_speed=if_high_speed),
        }

    found = read("sw", state(2, 0, 0), state(1, 1_000_000_000, 25_000))
    before, after = (
        [found.row(label, poll)["link_speed_bits_per_second"] for label in ("e1", "e2")] for poll in (0, 1)
    )
    assert (before, after) == ([None, None], [1_000, 25_000])


def test_a_wide_counter_that_the_agent_leaves_at_0_is_not_used() -> None:
    """D-Link: the octets of 64 bits are there and stay at 0. The idle port will count in those of 32 bits, too."""
    idle = port(3, "e3", in_64=0, out_64=0, in_32=0, out_32=0)
    found = read("sw", port(1, "e1", in_64=0, out_64=0) | port(2, "e2", in_64=0, out_64=0) | idle)
    for label in ("e1", "e2", "e3"):
        assert (found.bits(label)["bytes_rx_total"], found.bits(label)["bytes_tx_total"]) == (32, 32)
    assert (found.row("e1")["bytes_rx_total"], found.row("e1")["bytes_tx_total"]) == (1_000, 2_000)
    assert any("64-bit octet counters" in line for line in found.check.unreadable)


def test_wide_counters_of_idle_ports_are_used() -> None:
    idle = port(2, "e2", in_64=0, out_64=0, in_32=0, out_32=0)
    found = read("sw", port(1, "e1", in_64=7, in_32=7) | idle)
    assert [found.bits(label)["bytes_rx_total"] for label in ("e1", "e2")] == [64, 64]


def test_a_port_whose_wide_counters_run_keeps_them_beside_one_whose_do_not() -> None:
    found = read("sw", port(1, "e1") | port(2, "e2", in_64=0, out_64=0))
    assert [found.bits(label)["bytes_rx_total"] for label in ("e1", "e2")] == [64, 32]


def test_interfaces_that_are_no_ports_say_nothing_of_the_columns() -> None:
    """The management port of a Brocade counts in 32 bits alone."""
    vlan = port(9, "Vlan9", b"", PROP_VIRTUAL, in_64=0, out_64=0)
    idle = port(2, "e2", in_64=0, out_64=0, in_32=0, out_32=0)
    found = read("sw", port(1, "e1") | idle | vlan)
    assert [found.bits(label)["bytes_rx_total"] for label in ("e1", "e2")] == [64, 64]
