"""The state of a lab. It is written to the lab's folder before anything is created, so `down` works after a crash."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

PREFIX = "srl-"
"""Prefix of the names that mark the namespaces, root interfaces and processes of all labs."""

ROLES = ("host", "switch", "array")


class LabError(Exception):
    """The lab cannot be built or taken down. The message has the reason."""


@dataclass(frozen=True, slots=True)
class State:
    """A lab. `lab`: unique name, e.g. srl-3fa9c1. `management_network`: an IPv4 /24 of the root namespace."""

    lab: str
    case: str
    management_network: str

    @property
    def namespaces(self) -> dict[str, str]:
        """Role → network namespace."""
        return {role: f"{self.lab}-{role}" for role in ROLES}

    @property
    def management_interface(self) -> str:
        """The root namespace's end of the cable to the switch, with 15 characters, the most that Linux allows."""
        return f"{self.lab}-mgmt"

    @property
    def root_address(self) -> str:
        """Address of the root namespace towards the switch."""
        return self.management_network.replace(".0/24", ".1")

    @property
    def switch_address(self) -> str:
        """Address of the switch's agent."""
        return self.management_network.replace(".0/24", ".2")


def new_lab_name() -> str:
    """Return a unique name of a lab."""
    return PREFIX + secrets.token_hex(3)


def state_file(folder: Path) -> Path:
    """Return the state file of a lab. It exists exactly while there may be something to take down."""
    return folder / "state.json"


def save(state: State, folder: Path) -> None:
    """Write the state atomically."""
    new = folder / "state.json.new"
    new.write_text(json.dumps(asdict(state), indent=2) + "\n")
    new.replace(state_file(folder))


def load(folder: Path) -> State | None:
    """Read the state of a folder's lab. None: it has no lab. Raises LabError: the file is not a lab's state."""
    try:
        state = State(**json.loads(state_file(folder).read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise LabError(
            f"{state_file(folder)}: not the state of a lab ({error}); `down --all` clears all labs"
        ) from error
    if not state.lab.startswith(PREFIX):
        raise LabError(f"{state_file(folder)}: {state.lab!r} is not the name of a lab")
    return state
