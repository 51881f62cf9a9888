"""How the load ended, if it ended early."""

from __future__ import annotations

import os
import signal

from sanpath.facts.facts import Facts
from sanpath.facts.load.load_events import failed_ends, step_at

_SIGNAL_OFFSET = 128
"""A shell adds this to the number of the signal that ended a command."""
_MAX_COMMON_ERROR = 34
"""Up to this number, errors have the same meaning on Linux and Windows."""
_SIGNALS = {number.value: number.name for number in signal.Signals}


def how_it_ended(facts: Facts, exit_code: int | None) -> str | None:
    """A sentence about a load that ended with an error or by a signal, with the step. None: it did not, or it ended
    before its first step. `exit_code`: of its command; None: there was none, or sanpath ended it."""
    errors = dict.fromkeys(
        f"with error {_words(error)} in step {step.name}" for step, _, error in failed_ends(facts.steps, facts.events)
    )
    if errors:
        return f"The load ended {' and '.join(errors)}."
    ends = [event.seen for _, event in facts.events if event.name == "load-ended" and event.detail.get("exit_code")]
    step = step_at(facts.steps, max(ends, default=0))
    if not exit_code or step is None:
        return None
    name = _SIGNALS.get(exit_code - _SIGNAL_OFFSET)
    end = f"was killed by {name}" if name is not None else f"ended with exit code {exit_code}"
    return f"The load {end}; the last step that it reported is {step.name}."


def _words(error: int) -> str:
    return f"{error} ({os.strerror(error)})" if error <= _MAX_COMMON_ERROR else str(error)
