"""Cases that are hard to judge: nothing that holds the test is cleared or acquitted, and what is left is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.real_lab.support import recorded, running_lab

pytestmark = pytest.mark.slow

HOST_LINK = frozenset(("link:host1/eth0--sw1/p-host", "hba:host1/eth0"))
ARRAY = frozenset(("array:fa1", "controller:fa1/CT0", "volume:fa1/vol1"))
DOOR = frozenset(("array_port:fa1/CT0.ETH0",))
"""Where requests wait that the array's clock does not see yet; the link in front of it has room."""
HOLDS = {
    "one-at-a-time": ARRAY | DOOR,
    "close-ceilings": HOST_LINK,
    "slow-port-mixed": HOST_LINK,
    "slow-port-two-volumes": HOST_LINK,
    "slow-port-switch-unread": HOST_LINK,
    "saturated-array-unread": ARRAY | DOOR,
}
"""What holds the test, as the lab was built: each of its names."""
PLACE_READ = ("close-ceilings", "slow-port-mixed", "slow-port-two-volumes")
"""Cases in which the place at fault is read: it must be among the suspects by name."""


@dataclass(frozen=True)
class Found:
    """A case, and what is said of it."""

    case: str
    reported: dict[str, Any]

    @property
    def verdict(self) -> dict[str, Any]:
        return dict(self.reported["verdict"])

    @property
    def culprits(self) -> frozenset[str]:
        return HOLDS[self.case]


@pytest.fixture(scope="module", params=HOLDS)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Found]:
    folder = tmp_path_factory.mktemp(request.param)
    with running_lab(folder / "lab", request.param) as lab:
        yield Found(request.param, recorded(lab, folder / f"{request.param}.sanpath"))


def test_it_is_not_said_that_nothing_holds_the_test(found: Found) -> None:
    assert found.verdict["kind"] in ("bottleneck", "cannot_tell")


def test_what_holds_the_test_is_not_cleared(found: Found) -> None:
    assert not found.culprits & {entry["entity"] for entry in found.reported["cleared"]}


def test_nothing_else_is_named(found: Found) -> None:
    for named in found.verdict["bottlenecks"][:1]:
        assert found.culprits & {named["entity"], *named["coincident"]}


def test_what_is_left_is_said_and_what_would_decide(found: Found) -> None:
    suspects = found.verdict["suspects"]
    assert suspects
    if found.case in PLACE_READ:
        assert found.culprits & {name for one in suspects for name in (one["entity"], *one["coincident"])}
    if found.verdict["kind"] == "cannot_tell":
        assert found.verdict["decide_with"]
