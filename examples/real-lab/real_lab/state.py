"""What a lab owns, written to its folder before any of it exists, so that a crash leaves nothing unknown."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

PREFIX = "srl-"
"""Every namespace, interface of the root namespace and process of every lab is marked with a name that begins so."""

ROLES = ("host", "switch", "array")


class LabError(Exception):
    """The lab cannot be built or taken down: the message says why."""


@dataclass(frozen=True, slots=True)
class State:
    """One lab. `lab` is its unique name, e.g. srl-3fa9c1; `management_network` an IPv4 /24 of the root namespace."""

    lab: str
    case: str
    management_network: str

    @property
    def namespaces(self) -> dict[str, str]:
        """Role to network namespace."""
        return {role: f"{self.lab}-{role}" for role in ROLES}

    @property
    def management_interface(self) -> str:
        """The root namespace's end of the cable to the switch; 15 characters, the longest Linux allows."""
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
    """A name no other lab has."""
    return PREFIX + secrets.token_hex(3)


def state_file(folder: Path) -> Path:
    """Where a lab's folder keeps its state; it exists exactly while there may be something to take down."""
    return folder / "state.json"


def save(state: State, folder: Path) -> None:
    """Write the state in one step: a reader sees all of it or none."""
    new = folder / "state.json.new"
    new.write_text(json.dumps(asdict(state), indent=2) + "\n")
    new.replace(state_file(folder))


def load(folder: Path) -> State | None:
    """The folder's lab; None when it has none. Raises LabError when the file is not a lab's state."""
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
