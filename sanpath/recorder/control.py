"""The protocol between the recorder process and the process that starts it, apart from the request: commands, an exit
code."""

from __future__ import annotations

STOP = "stop"
RUN, CUT, END = "run ", "cut", "end "
"""Commands of a probe: run a step, cut the running one short, end the run. An order follows the first and last."""
ABORT = "abort"
UNWRITTEN = 4
"""The recorder's exit code when the recording could not be written completely."""

PYTHONPATH_BEFORE = "SANPATH_PYTHONPATH"
"""The variable that passes the user's PYTHONPATH to the recorder, which restores it for the load command."""
