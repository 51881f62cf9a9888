"""Parses the complete jobs of a truncated JSON document of fio. Pure."""

from __future__ import annotations

import re
from typing import Any

from sanpath.plugin import json_object, read_json, read_whole_items

_JOBS = re.compile(r',?\s{0,64}"(jobs|client_stats)"\s{0,8}:\s{0,8}\[')


def parse_complete_jobs(text: str) -> dict[str, Any] | None:
    """Return a document with the complete job entries and the keys before them. None: no job is complete.

    >>> parse_complete_jobs('{"fio version": "fio-3.33", "jobs": [{"jobname": "a"}, {"jobname": "b')
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
