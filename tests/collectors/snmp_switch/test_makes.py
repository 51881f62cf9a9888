"""Whose switch it is: remedies contain the command lines of that make alone."""

from __future__ import annotations

import pytest

from sanpath.plugin import SourceEntity
from tests.collectors.snmp_switch.small import NX_OS, port, read


@pytest.mark.parametrize(
    ("description", "object_id", "make"),
    [
        ("Fibre Channel Switch.", "1.3.6.1.4.1.1588.2.1.1.1", "brocade"),
        ("Resold Fibre Channel switch, Fabric OS v9.1.1", "1.3.6.1.4.1.99999.1", "brocade"),
        ("Some chassis", NX_OS, "cisco"),
        ("Resold: CISCO NX-OS(tm) n5000", "1.3.6.1.4.1.99999.1", "cisco"),
        # A word of another make's name is not this one.
        ("SmartFabric OS10 Enterprise.", "1.3.6.1.4.1.99999.1", None),
        ("Top of rack, San Francisco", "1.3.6.1.4.1.99999.1", None),
    ],
)
def test_the_make_is_of_the_number_or_a_whole_word(description: str, object_id: str, make: str | None) -> None:
    result = read("sw1", port(1, "port1") | {"1.3.6.1.2.1.1.1.0": description.encode()}, object_id=object_id)
    (switch,) = (e for e in result.inventory if isinstance(e, SourceEntity) and e.kind == "switch")
    assert switch.attributes.get("make") == make
