"""The kernel lab: a storage network of real Linux kernels with a real bottleneck, on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

# Namespaces, agents and processes are handled as in the real lab.
sys.path.append(str(Path(__file__).parent.parent / "real-lab"))

from kernel_lab.cli import main

if __name__ == "__main__":
    main()
