"""Which ports move just the bytes of the load: they add up over a switch, whatever others do there."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanpath.facts.table import FactRow
from sanpath.verdict.hypotheses.links import claims
from sanpath.verdict.places.load_alone import UNKNOWN_PORT, links_of_load_alone
from sanpath.verdict.places.path_links import PathLink

LOAD = 200e6
FRAMES = 1.03
"""Counted bytes over payload."""


def link(name: str, side: str, bytes_per_second: float) -> FactRow:
    return {
        "entity": name,
        "switch": "sw1",
        "side": side,
        "bytes_per_second": bytes_per_second,
        "on_loaded_path": None,
        "utilisation": bytes_per_second / 1.7e9,
        "full_ratio": 0.985,
        "utilisation_max": None,
        "direction": "read",
        "step": "s",
        "share": None,
    }


def table_of(rows: list[FactRow], **more: Any) -> Any:
    """The table of a load that reads 200 MB/s, and of which no port is known."""
    load = SimpleNamespace(step="s", direction="read", bytes_per_second=LOAD, operation_bytes=65536.0)
    return SimpleNamespace(
        load=load, facts=SimpleNamespace(parts=()), rows=lambda kind, **_: rows if kind == "link" else [], **more
    )


FOREIGN = st.lists(st.floats(0.3e9, 1.6e9), min_size=1, max_size=4)
"""Each is more than the load: no two of them move what it does."""


@given(others=FOREIGN, is_known=st.booleans())
def test_a_port_of_its_own_is_found_whatever_others_move(others: list[float], is_known: bool) -> None:
    """Each flow comes in at one port and leaves at one. The host's own port may have no device that is known."""
    flows = [("own", LOAD * FRAMES), *((f"other{number}", rate) for number, rate in enumerate(others))]
    rows = [link(f"{name}--array", "array", rate) for name, rate in flows]
    rows += [link(f"host--{name}", "host", rate) for name, rate in flows if is_known or name != "own"]
    found = links_of_load_alone(table_of(rows))
    assert "own--array" in found["array"]
    assert ("host--own" if is_known else UNKNOWN_PORT) in found["host"]


@given(others=FOREIGN, paths=st.integers(1, 4))
def test_the_ports_over_which_it_is_spread_are_found_together(others: list[float], paths: int) -> None:
    own = [link(f"own{number}--array", "array", LOAD * FRAMES / paths) for number in range(paths)]
    rows = own + [link(f"other{number}--array", "array", rate) for number, rate in enumerate(others)]
    assert links_of_load_alone(table_of(rows))["array"] == {row["entity"] for row in own}


@given(others=FOREIGN)
def test_where_the_test_shares_its_port_nothing_is_missing(others: list[float]) -> None:
    """All flows leave at one port: as many bytes leave as come in."""
    rows = [link(f"{number}--array", "array", rate) for number, rate in enumerate([LOAD * FRAMES, *others])]
    rows.append(link("host--shared", "host", LOAD * FRAMES + sum(others)))
    assert UNKNOWN_PORT not in links_of_load_alone(table_of(rows)).get("host", set())


def test_a_load_over_two_paths_is_not_that_of_a_neighbour_with_as_many_bytes() -> None:
    """Two ports move half of it each, and another host's as much as both."""
    half = LOAD * FRAMES / 2
    rows = [link("host--1", "host", half), link("host--2", "host", half), link("esx9--10", "host", 2 * half)]
    assert "host" not in links_of_load_alone(table_of(rows))


@pytest.mark.parametrize("left_out", ["uncounted", "another switch"])
def test_what_leaves_over_a_link_that_is_not_counted_leaves_at_no_unknown_port(left_out: str) -> None:
    rows = [link("own--array", "array", LOAD * FRAMES), link("other--array", "array", 1e9)]
    rows += [link("host--other", "host", 1e9), link("host--own", "host", LOAD * FRAMES)]
    changed: dict[str, Any] = {"switch": "sw2"} if left_out == "another switch" else {"bytes_per_second": None}
    rows[-1] = {**rows[-1], **changed}
    assert UNKNOWN_PORT not in links_of_load_alone(table_of(rows)).get("host", set())


@pytest.mark.parametrize("own_port", ["known", "unknown", "the full one"])
def test_a_full_link_of_others_is_not_accused(own_port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """1.67 GB/s of another host come in at one port and leave at another; the test's 206 MB/s take ports of their
    own, or that host's port as well."""
    full, own = 1.67e9, LOAD * FRAMES
    rows = [link("link:sw1/20--fa1", "array", own)]
    rows.append(link("link:sw1/21--fa1", "array", full - own if own_port == "the full one" else full))
    rows.append(link("link:esx9--sw1/10", "host", full))
    rows += [link("link:db1--sw1/1", "host", own)] if own_port == "known" else []
    possible = [_possible(row) for row in rows]
    monkeypatch.setattr("sanpath.verdict.hypotheses.links.path_links", lambda _: possible)
    table = table_of(rows, initiators=[], array=None, tcp=None, uncounted=(), **_NOWHERE)
    (accused,) = (claim for claim in claims(table) if claim.entity == "link:esx9--sw1/10")
    assert (sum(evidence.weight for evidence in accused.evidence) > 1.0) is (own_port == "the full one")


_NOWHERE: dict[str, Any] = dict.fromkeys(("transfer", "before_transfer"), frozenset())


def _possible(row: FactRow) -> PathLink:
    """A link as one of those that the load may cross."""
    filled = float(row["bytes_per_second"] or 0.0) / 1.67e9
    return PathLink((str(row["entity"]),), row["side"], filled, filled, False, None, LOAD, "how full it is", row)
