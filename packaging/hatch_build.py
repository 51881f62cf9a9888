"""Build hook of the wheel: the manual pages go into it when `make man` has written them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ManualPages(BuildHookInterface[Any]):
    """Adds build/man as share/man/man1. A plain `pip install .` has none: they need sanpath itself to be written."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's interface
        """Add the pages. `build_data`: what hatchling puts into the wheel."""
        pages = sorted((Path(self.root) / "build/man").glob("*.1"))
        build_data["shared_data"].update({str(page): f"share/man/man1/{page.name}" for page in pages})
