"""Chooses the next action of a probe from the diagnosis so far: each kind of search is a pure function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sanpath.diagnosis.experiment import Experiment
from sanpath.diagnosis.model import Diagnosis, StepResult, Trial, Verdict
from sanpath.facts.load.loads import SAME_THROUGHPUT
from sanpath.model import START
from sanpath.probe import knee as knee_search
from sanpath.probe import objective as objective_search
from sanpath.probe.budget import Spent, refusal_reason, step_seconds
from sanpath.probe.choice import best_choice, expected_bits, is_certain, separates
from sanpath.probe.experiment_steps import Finish, Order, in_flight_order, order_of, start_order
from sanpath.probe.objective import Highest, Objective
from sanpath.probe.plan import RUNNABLE, ProbePlan
from sanpath.units import counted, iops, outstanding, percent_likely

Search = Callable[[ProbePlan, Diagnosis | None, Spent], Order | Finish]
"""Returns the next step of a probe, or its end. The diagnosis is that of the steps so far, None before the first."""

_HOLD_FACTOR = 3
"""Multiple of a step's usual duration for which the load that meets an objective is held."""
_SETTINGS = ("deeper_queue", "lift_limit")
"""Experiments that change a setting."""


def find_limit(plan: ProbePlan, diagnosis: Diagnosis | None, spent: Spent) -> Order | Finish:
    """Separate the suspects until one is certain, or no experiment of the plan would separate them further."""
    if diagnosis is None or diagnosis.probe is None:
        return _unmeasured(diagnosis, spent) or _check_budget(plan, spent, start_order(plan))
    return _next(plan, diagnosis.verdict, diagnosis.probe.steps, spent)


def continue_from(recorded: Verdict) -> Search:
    """Return the search that starts from the verdict of a recording.

    Its first step separates the suspects of that verdict. The second step is the load itself, because an experiment
    shows a ratio to it, and neighbours, caches and settings may have changed since the recording. If the verdict
    leaves nothing to try, the probe ends without running anything.
    """

    def search(plan: ProbePlan, diagnosis: Diagnosis | None, spent: Spent) -> Order | Finish:
        if spent.steps > 1:
            return find_limit(plan, diagnosis, spent)
        if spent.steps:
            order = start_order(plan, "the load of the recording, to compare the step before with it")
            return _unmeasured(diagnosis, spent) or _check_budget(plan, spent, order)
        first = _next(plan, recorded, (), spent)
        if isinstance(first, Order) and not _has_room_for_two(plan, spent, first):
            return Finish("the budget has no room for an experiment and for the load that it is compared with")
        return first

    return search


def _has_room_for_two(plan: ProbePlan, spent: Spent, first: Order) -> bool:
    after = replace(spent, steps=spent.steps + 1, seconds=spent.seconds + step_seconds(plan, first))
    return not refusal_reason(plan, after, start_order(plan))


def _next(plan: ProbePlan, verdict: Verdict, trials: Sequence[Trial], spent: Spent) -> Order | Finish:
    """The step that separates the suspects of a verdict best. `trials`: the steps so far."""
    if is_certain(verdict):
        probability = percent_likely(verdict.probability or 0)
        return Finish(f"the verdict is settled: confidence {verdict.grade}, {probability}")
    tried, steps = [trial.experiment for trial in trials], {trial.step for trial in trials}
    orders = {
        experiment.action: order
        for experiment in verdict.experiments
        if (order := order_of(plan, experiment.action, experiment.in_flight, separates(experiment))) is not None
        # An experiment may request more than the plan allows, and then the same step again.
        and order.step.name not in steps
    }
    seconds: dict[str, float] = {action: step_seconds(plan, order) for action, order in orders.items()}
    choice = best_choice(verdict.experiments, seconds, tried)
    by_hand = next_for_a_person(verdict.experiments)
    person = "" if by_hand is None else by_hand.in_words
    if choice is None:
        return Finish("no experiment that the plan allows would show more", person)
    return _check_budget(plan, spent, orders[choice.experiment.action], person)


def find_knee(plan: ProbePlan, diagnosis: Diagnosis | None, spent: Spent) -> Order | Finish:
    """Find the knee of throughput over outstanding I/Os."""
    if (ended := _unmeasured(diagnosis, spent)) is not None:
        return ended
    points = knee_points(diagnosis)
    number = knee_search.next_in_flight(points, plan.budget.in_flight, plan.share)
    if number is None:
        return Finish(knee_text(points))
    reason = "the ends of the curve come first" if len(points) < 2 else "the curve is least certain there"
    order = _check_budget(plan, spent, in_flight_order(plan, number, "knee", reason))
    return Finish(f"{order.reason}; {knee_text(points)}") if isinstance(order, Finish) and points else order


def find_highest(objective: Objective) -> Search:
    """Return the search for the highest load under a latency objective."""

    def search(plan: ProbePlan, diagnosis: Diagnosis | None, spent: Spent) -> Order | Finish:
        if (ended := _unmeasured(diagnosis, spent)) is not None:
            return ended
        latencies = _latencies(diagnosis, objective)
        if any(latency.seconds is None for latency in latencies):
            return Finish(f"the load does not report {objective.statistic} for all of its I/Os")
        found = objective_search.next_in_flight(latencies, objective, plan.budget.in_flight, plan.share)
        if isinstance(found, Highest):
            return Finish(_objective_text(diagnosis, objective, found))
        is_repeated = found in [latency.in_flight for latency in latencies]
        reason = f"to hold it under {objective.text}" if is_repeated else f"to find the most under {objective.text}"
        seconds = _HOLD_FACTOR * plan.seconds if is_repeated else None
        return _check_budget(plan, spent, in_flight_order(plan, found, "objective", reason, seconds))

    return search


def repeat(before: Diagnosis) -> Search:
    """Return the search that repeats the load of an earlier probe, after a person changed a setting or read a source.

    It continues with the experiments that the new verdict still needs.
    """

    def search(plan: ProbePlan, diagnosis: Diagnosis | None, spent: Spent) -> Order | Finish:
        if diagnosis is None or diagnosis.probe is None:
            order = start_order(plan, "the load of the earlier probe, after the change")
            return _unmeasured(diagnosis, spent) or _check_budget(plan, spent, order)
        order_or_finish = find_limit(plan, diagnosis, spent)
        if isinstance(order_or_finish, Order):
            return order_or_finish
        return replace(order_or_finish, reason=f"{change_text(before, diagnosis)}; {order_or_finish.reason}")

    return search


def next_for_a_person(experiments: Sequence[Experiment]) -> Experiment | None:
    """The first experiment that only a person can make: it reads a source, or changes a setting. None: there is none.

    `experiments`: best first, as in a verdict.
    """
    return next((experiment for experiment in experiments if experiment.action not in RUNNABLE), None)


def knee_points(diagnosis: Diagnosis | None) -> list[knee_search.Point]:
    """The steps of a probe as points of its curve, each with both directions together."""
    points = []
    for step in _steps(diagnosis):
        ops = step.ops_per_second
        wait_seconds = sum(each.ops_per_second * each.latency_seconds.mean for each in step.directions.values())
        if ops:
            points.append(knee_search.Point(_in_flight(step), ops, wait_seconds / ops))
    return points


def knee_text(points: Sequence[knee_search.Point]) -> str:
    """The knee of the steps in words."""
    found = knee_search.knee(points)
    most = max(point.in_flight for point in points)
    if not found.is_reached:
        return f"no knee up to {outstanding(most)}: throughput still grows with them"
    best = iops(max(point.ops_per_second for point in points))
    limits = f"between {found.low:.3g} and {found.high:.3g}"
    steps = counted(len(points), "step")
    return f"the knee is at {outstanding(found.in_flight)} ({limits}), with at most {best}, found in {steps}"


def change_text(before: Diagnosis, after: Diagnosis) -> str:
    """What changing a setting between two probes has proven, in words."""
    old, new = _throughput(before), _throughput(after)
    if not old or not new:
        return "the load was not measured in both probes: nothing is proven"
    changed = 1 + SAME_THROUGHPUT
    is_more = new > changed * old
    moved = "more throughput" if is_more else "less throughput" if old > changed * new else "no more throughput"
    text = f"{moved}: {iops(old)} before, {iops(new)} after"
    settings = [experiment for experiment in before.verdict.experiments if experiment.action in _SETTINGS]
    if not settings:
        return text
    best = max(settings, key=expected_bits)
    after_change = [(m.if_seen if is_more else m.if_not, m.probability, m.name) for m in best.meanings]
    words = " or ".join(
        f"{name} ({percent_likely(share)}, {percent_likely(earlier)} before)"
        for share, earlier, name in sorted(after_change)[:-3:-1]
    )
    return f"{text}; if the change was to {best.text}, the limit was {words}"


def _check_budget(plan: ProbePlan, spent: Spent, order: Order, person: str = "") -> Order | Finish:
    reason = refusal_reason(plan, spent, order)
    return Finish(reason, person) if reason else order


def _unmeasured(diagnosis: Diagnosis | None, spent: Spent) -> Finish | None:
    """The end of a probe whose steps could not be measured. None: they were measured, or there was no step yet."""
    if not spent.steps or (diagnosis is not None and diagnosis.probe is not None):
        return None
    return Finish("the load could not be measured in its step: give the steps more seconds")


def _steps(diagnosis: Diagnosis | None) -> list[StepResult]:
    """The measured steps of a probe."""
    if diagnosis is None or diagnosis.probe is None:
        return []
    names = {trial.step for trial in diagnosis.probe.steps}
    return [step for step in diagnosis.steps if step.name in names and step.in_flight.configured]


def _in_flight(step: StepResult) -> int:
    return round(step.in_flight.configured or 0)


def _latencies(diagnosis: Diagnosis | None, objective: Objective) -> list[objective_search.Latency]:
    """The statistic of an objective in each step; for a mixed load that of the slower direction."""
    latencies = []
    for step in _steps(diagnosis):
        values = [getattr(direction.latency_seconds, objective.statistic) for direction in step.directions.values()]
        is_unknown = not values or any(value is None for value in values)
        latencies.append(objective_search.Latency(_in_flight(step), None if is_unknown else max(values)))
    return latencies


def _objective_text(diagnosis: Diagnosis | None, objective: Objective, found: Highest) -> str:
    if found.in_flight is None:
        return f"even the smallest load misses {objective.text}"
    step = next(step for step in reversed(_steps(diagnosis)) if _in_flight(step) == found.in_flight)
    ops = step.ops_per_second
    if not found.is_missed_above:
        most = f"{outstanding(found.in_flight)}, the most that the budget allows"
        return f"{objective.text} is met with {most}: {iops(ops)}, met twice; more was not tried"
    return f"the most under {objective.text} is {outstanding(found.in_flight)}: {iops(ops)}, met twice"


def _throughput(diagnosis: Diagnosis) -> float:
    """Operations a second of the specified load. 0: it was not measured."""
    trials = diagnosis.probe.steps if diagnosis.probe is not None else ()
    start = next((trial.step for trial in trials if trial.experiment == START), None)
    step = next((step for step in diagnosis.steps if step.name == start), None)
    return step.ops_per_second if step is not None else 0.0
