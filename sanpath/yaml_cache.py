"""Keeps what the YAML files of a package hold as JSON beside its bytecode, so that not every start parses them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any


def cached(package: str, name: str, read: Callable[[], Any]) -> Any:
    """Return what `read` makes of the YAML files of a package: from the cache, unless one of the files has changed.

    `name`: of the cache among those of the package. It is written as Python writes bytecode: into `__pycache__`, only
    where that is allowed and possible, and only if JSON returns the same. Raises whatever `read` raises.
    """
    folder = files(package)
    if not isinstance(folder, Path):
        return read()
    stamp = [
        [str(path.relative_to(folder)), status.st_mtime_ns, status.st_size]
        for path in sorted(folder.rglob("*.yaml"))
        for status in [path.stat()]
    ]
    cache = Path(cache_from_source(str(folder / f"{name}.py"))).with_suffix(".json")
    with suppress(OSError, ValueError, RecursionError, KeyError, TypeError):
        kept = json.loads(cache.read_bytes())
        if kept["files"] == stamp:
            return kept["content"]
    content = read()
    if not sys.dont_write_bytecode:
        with suppress(OSError, ValueError, TypeError):
            _write(cache, {"files": stamp, "content": content})
    return content


def _write(cache: Path, document: dict[str, Any]) -> None:
    """Replace the cache at once: another process may read it. Raises OSError, ValueError or TypeError."""
    text = json.dumps(document, allow_nan=False)
    if json.loads(text) != document:
        return
    cache.parent.mkdir(exist_ok=True)
    part = cache.with_suffix(f".{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(cache)
