"""A claim whose state does not hold is found, whatever the state."""

from __future__ import annotations

from typing import Any

import pytest

from examples.claims import Results, check

FINDING = {"rule": "bits-for-bytes", "entity": "load:a", "outcome": "hit", "summary": "bits for bytes"}
STEPS = [{"name": "s", "directions": {"read": {"ops": 100.0}, "write": {"ops": 40.0}}}]
ENTERED = [{"origin": "stated", "low": 80.0}, {"origin": "computed", "low": 2.4}]
FIGURES = [{"entity": "load:a", "values": ENTERED}]
OS = [{"entity": "host:h", "value": "Windows Server 2008 R2 Enterprise"}]
DIAGNOSIS = {"steps": STEPS, "findings": [FINDING], "figures": FIGURES, "configuration": OS}
RESULTS = Results({"r": DIAGNOSIS}, [{"a": {"b": [3.0, 6.0]}, "text": "+2.4 %"}])
WRITES = ["steps", {"name": "s"}, "directions", "write"]
FIGURE = {"recording": "r", "step": "s", "quantity": "ops"}
SYSTEM = {"recording": "r", "at": ["configuration", {"entity": "host:h"}, "value"]}


def entered(origin: str, published: float) -> dict[str, Any]:
    path = ["figures", {"entity": "load:a"}, "values", {"origin": origin}, "low"]
    return {"recording": "r", "at": path, "published": published}


def problems(state: str, **keys: Any) -> list[str]:
    return list(check({"id": "1.1", "claim": "it is fast", "state": state, **keys}, RESULTS).problems)


@pytest.mark.parametrize(
    "keys",
    [
        {"figures": [{**FIGURE, "direction": "read", "published": 101}]},
        {"figures": [{**FIGURE, "published": 140}]},
        {"figures": [{**FIGURE, "combine": "max", "published": [99, 101]}]},
        {"figures": [{"compare": 0, "at": "a.b.1", "over": "a.b.0", "published": 2}]},
        {
            "figures": [
                {"recording": "r", "at": ["steps", {"name": "s"}, "directions", "write", "ops"], "published": 40}
            ]
        },
        {"words": ["+2.4 %"]},
        {"by": {"recording": "r", "rule": "bits-for-bytes", "entity": "load:a"}},
        {"figures": [entered("computed", 2.4)]},
        {"texts": [{**SYSTEM, "published": "Windows Server 2008 R2"}]},
    ],
)
def test_what_the_output_carries_is_asserted(keys: dict[str, Any]) -> None:
    assert problems("asserted", **keys) == []


@pytest.mark.parametrize(
    ("state", "keys"),
    [
        ("asserted", {"figures": [{**FIGURE, "direction": "read", "published": 103}]}),
        ("asserted", {"words": ["+2.5 %"]}),
        ("asserted", {"figures": [entered("stated", 80)]}),
        ("asserted", {"texts": [{**SYSTEM, "published": "Windows Server 2012"}]}),
        ("asserted", {"reason": "it is"}),
        ("pointed_out", {"by": {"recording": "r", "rule": "bits-for-bytes", "entity": "load:b"}}),
        ("pointed_out", {"figures": [{**FIGURE, "published": 140}]}),
        ("derived", {"figures": [{**FIGURE, "published": 140}]}),
        ("derived", {"figures": [{**FIGURE, "published": 130}], "reason": "it was filled in"}),
        ("out_of_reach", {"words": ["+2.4 %"]}),
    ],
)
def test_what_it_does_not_carry_is_a_problem(state: str, keys: dict[str, Any]) -> None:
    assert len(problems(state, **keys)) == 1


def test_a_derived_claim_may_be_what_was_entered_and_says_how() -> None:
    claim = {"id": "1.1", "claim": "a disk does 80", "state": "derived", "reason": "it was entered"}
    checked = check({**claim, "figures": [{**entered("stated", 80), "unit": "IOPS"}]}, RESULTS)
    assert (checked.problems, checked.evidence) == ([], "80 IOPS; it was entered")


def test_a_unit_is_printed_once_for_the_figures_that_share_it() -> None:
    figures = [
        {**FIGURE, "direction": "read", "published": 100, "unit": "IOPS"},
        {**FIGURE, "direction": "write", "published": 40, "unit": "IOPS"},
        {**FIGURE, "direction": "write", "published": 40},
    ]
    checked = check({"id": "1.1", "claim": "it is fast", "state": "asserted", "figures": figures}, RESULTS)
    assert checked.evidence == "100, 40 IOPS, 40"
