"""Values that people write, with their units."""

from __future__ import annotations

import pytest

from sanpath_collectors.figures.values import parse_value


@pytest.mark.parametrize(
    ("text", "bytes_per_second"),
    [
        ("16 Gb/s", 2e9),
        ("3200 Mb/s", 4e8),
        ("10 Gbps", 1.25e9),
        ("8 Gbit/s", 1e9),
        ("500 MB/s", 5e8),
        ("500 mb/s", 5e8),
        ("2 GiB/s", 2 * 2.0**30),
    ],
)
def test_a_lower_case_b_after_an_upper_case_prefix_is_bits(text: str, bytes_per_second: float) -> None:
    assert parse_value(text).low == pytest.approx(bytes_per_second)


def test_a_decimal_comma_is_refused_and_a_group_of_thousands_is_not() -> None:
    with pytest.raises(ValueError, match="write a decimal point"):
        parse_value("0,250 ms")
    assert parse_value("1,250 ms").low == pytest.approx(1.25)
