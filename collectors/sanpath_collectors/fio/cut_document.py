"""What is whole of a JSON document of fio that was cut: its jobs before the cut. Pure."""

from __future__ import annotations

import re
from typing import Any

from sanpath.plugin import json_object, read_json, read_whole_items

_JOBS = re.compile(r',?\s{0,64}"(jobs|client_stats)"\s{0,8}:\s{0,8}\[')


def whole_jobs(text: str) -> dict[str, Any] | None:
    """Return a document with the entries of jobs that are whole, and what stands before them; None: there are none.

    >>> whole_jobs('{"fio version": "fio-3.33", "jobs": [{"jobname": "a"}, {"jobname": "b')
    {'fio version': 'fio-3.33', 'jobs': [{'jobname': 'a'}]}
    """
    found = _JOBS.search(text)
    if found is None:
        return None
    try:
        document = json_object(read_json(text[: found.start()] + "}"))
        jobs = read_whole_items(text, found.end())
    except ValueError:
        return None
    return {**document, found[1]: jobs} if jobs else None
