"""What is whole of a JSON document of fio that was cut: its jobs before the cut. Pure."""

from __future__ import annotations

import json
import re
from typing import Any

_JOBS = re.compile(r',?\s{0,64}"(jobs|client_stats)"\s{0,8}:\s{0,8}\[')
_BETWEEN = re.compile(r"\s*,?\s*")


def whole_jobs(text: str) -> dict[str, Any] | None:
    """Return a document with the entries of jobs that are whole, and what stands before them; None: there are none.

    >>> whole_jobs('{"fio version": "fio-3.33", "jobs": [{"jobname": "a"}, {"jobname": "b')
    {'fio version': 'fio-3.33', 'jobs': [{'jobname': 'a'}]}
    """
    found = _JOBS.search(text)
    if found is None:
        return None
    jobs, position, decoder = [], found.end(), json.JSONDecoder()
    try:
        document = json.loads(text[: found.start()] + "}")
        while True:
            between = _BETWEEN.match(text, position)
            job, position = decoder.raw_decode(text, between.end() if between is not None else position)
            jobs.append(job)
    except (ValueError, RecursionError):
        return {**document, found[1]: jobs} if jobs else None
