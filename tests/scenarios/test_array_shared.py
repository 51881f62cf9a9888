"""An array whose media are shared: a test that gets more of it as it asks for more takes that from others."""

from __future__ import annotations

from pathlib import Path

from sanpath.diagnosis.model import Diagnosis
from tests.support.san import KIB, AtArray, Flow, San
from tests.support.stories import NOTHING, fast, judged

WIRE = 4 * 2076 + 52
"""Counted bytes of 8 KiB: four frames and a response."""


def shared(folder: Path, others: tuple[float, float, float]) -> Diagnosis:
    """The test keeps 2, 8 and 16 in flight at 340, 1,018 and 1,526 a second: 5.88, 7.86 and 10.48 ms, all but 0.1 ms
    of it in the array. `others`: what other volumes get meanwhile."""
    san = San(folder)
    san.ports = [fast(port) for port in san.ports]
    for n, ops, rest in zip((2, 8, 16), (340.0, 1018.0, 1526.0), others, strict=True):
        san.step(
            f"q{n}",
            n,
            block=8 * KIB,
            read=Flow(ops, n / ops),
            ports={port.name: (ops * WIRE, NOTHING) for port in san.ports},
            disk={"read": Flow(ops, n / ops)},
            array={"read": AtArray(n / ops - 1e-4, san=2e-5, others=rest)},
        )
    return judged(san.write())


def test_what_the_test_gains_and_others_lose_is_a_full_array(tmp_path: Path) -> None:
    """2,700 + 340 = 3,040, 2,022 + 1,018 = 3,040 and 1,520 + 1,526 = 3,046 a second: it does no more."""
    verdict = shared(tmp_path, (2700.0, 2022.0, 1520.0)).verdict
    (bottleneck,) = verdict.bottlenecks
    assert (verdict.kind, bottleneck.entity, bottleneck.layer) == ("bottleneck", "array:fa1", "array_back")
    assert any("what the test gained, others lost" in reason for reason in bottleneck.because)


def test_an_array_that_does_more_for_the_test_and_as_much_for_others_is_not_full(tmp_path: Path) -> None:
    """More in flight still bring more: it may be that there are too few of them."""
    verdict = shared(tmp_path, (1500.0, 1500.0, 1500.0)).verdict
    assert verdict.grade != "A"
    assert "concurrency_limited" in [suspect.verdict for suspect in verdict.suspects]
