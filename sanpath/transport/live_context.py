"""The context of a live run: real connections, with their cost charged to one source."""

from __future__ import annotations

from pathlib import Path

from sanpath.extras import SNMPV3, SSH
from sanpath.plugin import (
    ClientCertificate,
    Clock,
    CollectorError,
    Cost,
    Failure,
    Files,
    Http,
    Machine,
    Snmp,
    SnmpCredentials,
    SshTarget,
)


class LiveContext:
    """`plugin.Context` for one source. The transports add to `cost`; the recorder reads it after each poll."""

    def __init__(self, clock: Clock, cost: Cost) -> None:
        self.clock, self.cost = clock, cost

    def snmp(self, credentials: SnmpCredentials) -> Snmp:
        """Return an SNMP session: gufo-snmp and pysnmp together if possible, otherwise pysnmp alone.

        Raises CollectorError: MISCONFIGURED if the library for privacy is not installed.
        """
        if credentials.user and credentials.user.privacy_password and SNMPV3.missing:
            raise CollectorError(Failure.MISCONFIGURED, f"SNMPv3 privacy is not installed: {SNMPV3.command}")
        from sanpath.transport.snmp.session import PysnmpSession

        try:
            from sanpath.transport.snmp.fast_session import FastSession
        except ImportError:  # gufo-snmp is for Linux only
            return PysnmpSession(credentials, self.clock, self.cost)
        session_class = FastSession if FastSession.supports(credentials) else PysnmpSession
        return session_class(credentials, self.clock, self.cost)

    def http(
        self,
        base_url: str,
        ca_file: Path | None = None,
        verify_tls: bool = True,
        timeout_seconds: float = 5.0,
        pinned_certificate: Path | None = None,
        client: ClientCertificate | None = None,
    ) -> Http:
        """Return an HTTPS session; certificates are verified unless `verify_tls` is False."""
        from sanpath.transport.http import HttpSession

        return HttpSession(base_url, self.cost, ca_file, verify_tls, timeout_seconds, pinned_certificate, client)

    def machine(self, ssh: SshTarget | None = None) -> Machine:
        """Return this machine, or one over SSH. The SSH library is imported on first use.

        Raises CollectorError: MISCONFIGURED if it is not installed.
        """
        if ssh is None:
            from sanpath.transport.local_machine import LocalMachine

            return LocalMachine(self.cost)
        if SSH.missing:  # without it, a source that needs it is refused before the run
            raise CollectorError(Failure.MISCONFIGURED, f"SSH is not installed: {SSH.command}")
        from sanpath.transport.ssh.session import SshMachine

        return SshMachine(ssh, self.cost)

    @property
    def files(self) -> Files:
        """The file system of this machine."""
        from sanpath.transport.folder_files import FolderFiles

        return FolderFiles([Path("/")], self.cost)
