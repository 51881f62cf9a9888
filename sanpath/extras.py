"""Optional parts of the installation: what a feature needs beyond the smallest install, and how to install it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec

from sanpath.errors import UsageError


@dataclass(frozen=True, slots=True)
class Extra:
    """Libraries that only some features need.

    `requirement`: what pip installs, as `sanpath[ssh]`. `modules`: the modules that are imported from it, by which
    its presence is recognised.
    """

    requirement: str
    modules: tuple[str, ...]

    @property
    def missing(self) -> bool:
        """Whether a module is not installed. Nothing is imported to find out."""
        return any(find_spec(module) is None for module in self.modules)

    @property
    def command(self) -> str:
        """The command that installs it, quoted for a shell."""
        return f"pip install '{self.requirement}'"

    def require(self, feature: str) -> None:
        """Raise UsageError when it is missing. `feature`: what needs it, the subject of the message."""
        if self.missing:
            raise UsageError(f"{feature} needs an optional part that is not installed: {self.command}")


SSH = Extra("sanpath[ssh]", ("asyncssh",))
SNMPV3 = Extra("sanpath[snmpv3]", ("cryptography",))
"""What privacy needs. Authentication alone does not."""
LIVE = Extra("sanpath[live]", ("textual",))
METRICS = Extra("sanpath[metrics]", ("prometheus_client",))
S3 = Extra("sanpath[s3]", ("s3fs",))
CLUSTER = Extra("sanpath[cluster]", ("distributed",))
