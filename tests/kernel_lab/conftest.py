from __future__ import annotations

import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"

sys.path[:0] = [str(EXAMPLES / "kernel-lab"), str(EXAMPLES / "real-lab")]
