"""The protocol between the recorder process and the process that starts it: commands and an exit code."""

from __future__ import annotations

STOP = "stop"
RUN, CUT, END = "run ", "cut", "end "
"""Commands of a probe: run a step, cut the current one short, end the run. RUN and END are followed by an order."""
ABORT = "abort"
UNWRITTEN = 4
"""The recorder's exit code if the recording could not be written completely."""

PYTHONPATH_BEFORE = "SANPATH_PYTHONPATH"
"""The variable that passes the user's PYTHONPATH to the recorder, which sets it again for the load command."""
