"""pysnmp reads and compiles its MIB modules twice for each engine, and a test makes several: once is enough."""

from __future__ import annotations

import functools
import runpy

from pysnmp.smi import builder

compiled = functools.cache(compile)
for module in (runpy, builder):
    vars(module)["compile"] = compiled
