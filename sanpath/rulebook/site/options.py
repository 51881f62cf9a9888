"""Command-line options that determine how rules judge: the user's rules, configuration, policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

PolicyName = Literal["aggressive", "moderate", "conservative"]
POLICIES: tuple[PolicyName, ...] = get_args(PolicyName)


@dataclass(frozen=True, slots=True)
class Choice:
    """The options of a command line.

    `folder`: rules of the user. `config` None: sanpath.yaml of the current folder, if it exists. `policy` None: that
    of the configuration."""

    folder: Path | None = None
    config: Path | None = None
    policy: PolicyName | None = None

    def arguments(self) -> list[str]:
        """Return the options as arguments of another process: folder, configuration, policy; "" for None."""
        return [str(option or "") for option in (self.folder, self.config, self.policy)]

    @classmethod
    def from_arguments(cls, arguments: Sequence[str]) -> Choice:
        """Return the options from the result of `arguments`; missing ones are None."""
        folder, config, policy = (*arguments, "", "", "")[:3]
        name = next((name for name in POLICIES if name == policy), None)
        return cls(Path(folder) if folder else None, Path(config) if config else None, name)
