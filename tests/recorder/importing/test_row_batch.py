"""Samples of many polls combined."""

from __future__ import annotations

from array import array

from sanpath.model import Column, Rows, Table
from sanpath.recorder.importing.row_batch import Batch

TABLE = Table("lun", (Column("ops_read_total", 64),))


def _in_arrays(first_us: int) -> Rows:
    return Rows(
        TABLE, ["d"] * 10, array("q", range(first_us, first_us + 10)), {"ops_read_total": array("Q", range(10))}
    )


def _in_lists(first_us: int) -> Rows:
    return Rows(TABLE, ["d"] * 10, list(range(first_us, first_us + 10)), {"ops_read_total": list(range(10))})


def test_samples_in_arrays_and_in_lists_come_out_in_their_order() -> None:
    """A counter log has both: rows without gaps are taken together, others one by one."""
    batch = Batch()
    polls = [poll for number in range(5) for poll in (_in_arrays(20 * number), _in_lists(20 * number + 10))]
    assert not [complete for poll in polls for complete in batch.add(poll)]
    of_arrays, of_lists = batch.remaining()
    assert isinstance(of_arrays.seen, array)
    assert isinstance(of_arrays.values["ops_read_total"], array)
    assert sorted([*of_arrays.seen, *of_lists.seen]) == list(range(100))
    assert list(of_arrays.values["ops_read_total"]) == of_lists.values["ops_read_total"] == list(range(10)) * 5
