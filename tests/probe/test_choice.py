"""The next experiment is the one with the most expected information a second about the suspects."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sanpath.probe.choice import best_choice, expected_bits, outcome_probability, separates
from sanpath.probe.search import next_for_a_person
from tests.probe.plans import experiment

shares = st.lists(st.floats(0.01, 1), min_size=2, max_size=4)


def test_the_leading_two_are_separated_first() -> None:
    """Of three suspects, one experiment separates the two that lead, another only the third from them."""
    leading = experiment("smaller_blocks", [("link", 0.48, 1.0), ("array", 0.47, 0.1), ("queue", 0.05, 0.1)])
    third = experiment("more_in_flight", [("link", 0.48, 0.1), ("array", 0.47, 0.1), ("queue", 0.05, 1.0)], 32)
    seconds = {"smaller_blocks": 20.0, "more_in_flight": 20.0}
    choice = best_choice([third, leading], seconds, ())
    assert choice is not None
    assert choice.experiment.action == "smaller_blocks"
    assert "link (48 %) from array (47 %)" in separates(choice.experiment)


def test_a_long_experiment_has_to_tell_more() -> None:
    better = experiment("smaller_blocks", [("link", 0.5, 0.95), ("array", 0.5, 0.1)])
    quicker = experiment("more_in_flight", [("link", 0.5, 0.9), ("array", 0.5, 0.1)], 32)
    equal = best_choice([better, quicker], {"smaller_blocks": 20.0, "more_in_flight": 20.0}, ())
    longer = best_choice([better, quicker], {"smaller_blocks": 60.0, "more_in_flight": 20.0}, ())
    assert equal is not None
    assert longer is not None
    assert (equal.experiment.action, longer.experiment.action) == ("smaller_blocks", "more_in_flight")


def test_what_is_not_allowed_or_was_made_is_not_chosen() -> None:
    blocks = experiment("smaller_blocks", [("link", 0.5, 1.0), ("array", 0.5, 0.1)])
    useless = experiment("cached_range", [("link", 0.5, 0.5), ("array", 0.5, 0.5)])
    seconds = {"smaller_blocks": 20.0, "cached_range": 20.0}
    assert best_choice([blocks], {}, ()) is None
    assert best_choice([blocks], seconds, ("start", "smaller_blocks")) is None
    assert best_choice([useless], seconds, ()) is None


def test_a_person_gets_the_first_experiment_that_a_probe_cannot_make() -> None:
    suspects = [("link", 0.5, 1.0), ("array", 0.5, 0.1)]
    blocks, switches, deeper = (
        experiment(action, suspects) for action in ("smaller_blocks", "read_switches", "deeper_queue")
    )
    assert next_for_a_person([blocks]) is None
    assert next_for_a_person([blocks, switches, deeper]) is switches


def test_only_fewer_outstanding_ios_are_tried_again() -> None:
    """A slope reaches to the nearest step, so a further one with more I/Os shows nothing; fewer end in no queue."""
    suspects = [("link", 0.5, 1.0), ("array", 0.5, 0.1)]
    more, fewer = experiment("more_in_flight", suspects, 64), experiment("fewer_in_flight", suspects, 4)
    seconds, tried = {"more_in_flight": 20.0, "fewer_in_flight": 20.0}, ("start", "more_in_flight", "fewer_in_flight")
    assert best_choice([more], seconds, tried) is None
    choice = best_choice([more, fewer], seconds, tried)
    assert choice is not None
    assert choice.experiment is fewer


@given(shares, st.data())
def test_information_is_never_negative_and_never_above_what_is_unknown(
    weights: list[float], data: st.DataObject
) -> None:
    total = sum(weights)
    likelihoods = [data.draw(st.floats(0, 1)) for _ in weights]
    suspects = [(f"s{i}", weight / total, p) for i, (weight, p) in enumerate(zip(weights, likelihoods, strict=True))]
    made = experiment("smaller_blocks", suspects)
    assert 0 <= expected_bits(made) <= 1 + 1e-9, "the answer is yes or no"
    seen = sum(share * p for _, share, p in suspects)
    if max(likelihoods) - min(likelihoods) > 0.01:
        assert outcome_probability(made) == pytest.approx(seen, abs=1e-6)
