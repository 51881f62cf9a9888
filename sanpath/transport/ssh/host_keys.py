"""Whether the machine at the other end of an SSH connection is the one that is meant; no key is trusted unseen."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import asyncssh

from sanpath.plugin import CollectorError, Failure

Keys = list[asyncssh.SSHKey]

_USER, _SYSTEM = Path("~/.ssh/known_hosts"), Path("/etc/ssh/ssh_known_hosts")


class HostKeys:
    """The known host keys, for one log-in.

    `where`: what people call the machine; `path`: the only file to read, None: those of the user and of the system.
    Raises MISCONFIGURED when the file that is named cannot be read.
    """

    def __init__(self, where: str, path: Path | None) -> None:
        self._where, self._file = where, path or _USER
        self._known = asyncssh.import_known_hosts("")
        self._host, self._shown = where, ""
        self._knows = False
        for file in (path,) if path is not None else (_USER.expanduser(), _SYSTEM):
            try:
                lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
            except OSError as error:
                if path is not None:
                    why = f"known_hosts {path}: {error.strerror}"
                    raise CollectorError(Failure.MISCONFIGURED, why) from error
                continue
            for line in lines:
                with contextlib.suppress(ValueError):  # a line that is none is passed over, as ssh does
                    self._known.load(line)

    def trusted(self, host: str, address: str, port: int | None) -> tuple[Keys, Keys, Keys]:
        """Host keys, certificate authorities and revoked keys of a host, when asyncssh asks; `port` None: 22."""
        keys, authorities, revoked, *_ = self._known.match(host, address, port)
        self._host = host if port is None else f"[{host}]:{port}"
        self._knows = bool(keys or authorities)
        return list(keys), list(authorities), list(revoked)

    def client(self) -> asyncssh.SSHClient:
        """A client that trusts no other key, and notes the one it was shown."""
        return _Client(self._note)

    def _note(self, shown: str) -> None:
        self._shown = shown

    def problem(self, reason: str) -> CollectorError:
        """Why the log-in has ended before it began, on one line, and what to do."""
        return CollectorError(Failure.MISCONFIGURED, f"{self._where}: {self._explained(reason)}")

    def _explained(self, reason: str) -> str:
        if "revoked" in reason:
            return f"its host key is marked as revoked in {self._file}"
        if not self._shown and "host key" not in reason:
            return reason
        shown = f" ({self._shown})" if self._shown else ""
        host, _, port = self._host.strip("[").partition("]:")
        to = f"-p {port} {host}" if port else host
        if self._knows:
            return (
                f"ITS HOST KEY HAS CHANGED{shown}: somebody may be listening in. If the machine was installed "
                f"anew: ssh-keygen -R '{self._host}' -f {self._file}, then log in once with ssh {to}"
            )
        return (
            f"its host key{shown} is not known: compare it with the machine's own and log in once with ssh {to}, "
            f"or ssh-keyscan {to} >> {self._file}"
        )


class _Client(asyncssh.SSHClient):
    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note

    def validate_host_public_key(self, host: str, addr: str, port: int, key: asyncssh.SSHKey) -> bool:  # noqa: ARG002
        self._note(f"{key.get_algorithm()} {key.get_fingerprint()}")
        return False
