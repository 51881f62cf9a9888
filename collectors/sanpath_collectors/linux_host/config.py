"""The configuration of a Linux machine, and of a Linux host."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from sanpath.plugin import SSH_EXTRA, Extra, Right, SecretStr, SourceConfig, SshTarget

SSH_RIGHT = Right(
    "Over SSH: an account with a shell; it needs no rights of its own", "everything below", "nothing is read"
)
_SSH_KEYS = ("port", "user", "key_file", "password", "known_hosts")
_TIMEOUT_SECONDS = 5.0
"""How long a login over SSH may take, even if polls are shorter."""


class MachineConfig(SourceConfig):
    """A Linux machine: this machine, or one over SSH if it has an address."""

    address: str | None = Field(
        default=None,
        min_length=1,
        description="host name or IP address for SSH, or an alias of ~/.ssh/config; default: this machine",
        examples=["db7.example.com"],
    )
    port: int | None = Field(default=None, ge=1, le=65535, description="TCP port of SSH; default: 22")
    user: str | None = Field(
        default=None, min_length=1, description="account for SSH; default: as ssh itself chooses"
    )
    key_file: Path | None = Field(
        default=None, description="private key for SSH; default: those of the SSH agent and of ~/.ssh"
    )
    password: SecretStr | None = Field(default=None, description="the account's password, where keys are not used")
    known_hosts: Path | None = Field(
        default=None, description="file with the host's public key; default: ~/.ssh/known_hosts and the system's"
    )
    every_seconds: float = Field(default=1.0, gt=0, description="seconds between polls")

    @model_validator(mode="after")
    def _ssh_needs_an_address(self) -> MachineConfig:
        given_keys = [key for key in _SSH_KEYS if getattr(self, key) is not None]
        if given_keys and self.address is None:
            raise PydanticCustomError(
                "ssh_address", "{keys} is for SSH: give address as well", {"keys": ", ".join(given_keys)}
            )
        return self

    @property
    def extras(self) -> tuple[Extra, ...]:
        """SSH, unless it is this machine."""
        return () if self.address is None else (SSH_EXTRA,)

    def ssh(self) -> SshTarget | None:
        """The login; None: this machine."""
        if self.address is None:
            return None
        return SshTarget(
            self.address,
            self.port,
            self.user,
            self.key_file,
            self.password,
            self.known_hosts,
            max(_TIMEOUT_SECONDS, self.budget_seconds),
        )


class LinuxHostConfig(MachineConfig):
    """A Linux host: this machine, or one over SSH if it has an address."""

    sudo: bool = Field(
        default=False, description="put `sudo -n` before dmsetup and multipathd, for an account that may run them so"
    )
    host: str | None = Field(
        default=None,
        min_length=1,
        description="name of this host, as in the topology; default: its host name unless that is localhost",
    )
    devices: list[str] | None = Field(
        default=None,
        min_length=1,
        description="devices to read, as sda, dm-3 or mpatha; default: all but partitions, RAM and CD devices, and "
        "loop devices that cannot be written to",
    )
    load_processes: list[str] = Field(
        default=["fio", "java", "diskspd", "dynamo"],
        description="processes of the load, whose threads and control groups are read, [] none; java is vdbench, "
        "dynamo Iometer's generator",
    )
