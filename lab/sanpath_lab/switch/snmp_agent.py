"""An SNMP v2c agent on loopback: GET, GETNEXT and GETBULK over an ObjectTree, for readers of one community."""

from __future__ import annotations

import socket
from collections.abc import Callable

from pysnmp.carrier.asyncio.dgram import udp
from pysnmp.entity import config, engine
from pysnmp.entity.rfc3413 import cmdrsp, context
from pysnmp.proto.rfc1902 import ObjectName
from pysnmp.proto.rfc1905 import EndOfMibView, NoSuchInstance
from pysnmp.smi.error import NotWritableError
from pysnmp.smi.instrum import AbstractMibInstrumController

from sanpath_lab.switch.object_tree import ObjectTree

VarBind = tuple[ObjectName, object]
END_OF_MIB_VIEW = EndOfMibView("")
NO_SUCH_INSTANCE = NoSuchInstance("")


class _TreeReader(AbstractMibInstrumController):  # type: ignore[misc]  # pysnmp ships no types
    """Answers from the tree. The community gives access to all objects."""

    def __init__(self, objects: ObjectTree, catch_up: Callable[[], object]) -> None:
        self._objects, self._catch_up = objects, catch_up

    def read_variables(self, *var_binds: VarBind, **_context: object) -> list[VarBind]:
        self._catch_up()
        values = ((name, self._objects.get(tuple(name))) for name, _ in var_binds)
        return [(name, NO_SUCH_INSTANCE if value is None else value) for name, value in values]

    def read_next_variables(self, *var_binds: VarBind, **_context: object) -> list[VarBind]:
        self._catch_up()
        return [self._next(name) for name, _ in var_binds]

    def _next(self, name: ObjectName) -> VarBind:
        following = self._objects.next(tuple(name))
        if following is None:
            return name, END_OF_MIB_VIEW
        oid, value = following
        return ObjectName(oid), value

    def write_variables(self, *var_binds: VarBind, **_context: object) -> list[VarBind]:
        raise NotWritableError(name=var_binds[0][0], idx=0)


class SnmpAgent:
    """Listens from construction, inside a running event loop, until `close`."""

    def __init__(
        self, objects: ObjectTree, community: str, catch_up: Callable[[], object], host: str = "127.0.0.1"
    ) -> None:
        udp_socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp_socket.bind((host, 0))
        self.address: tuple[str, int] = udp_socket.getsockname()
        self._engine = engine.SnmpEngine()
        config.add_transport(self._engine, udp.DOMAIN_NAME, udp.UdpTransport().open_server_mode(sock=udp_socket))
        config.add_v1_system(self._engine, "reader", community)
        snmp_context = context.SnmpContext(self._engine)
        snmp_context.unregister_context_name(b"")
        snmp_context.register_context_name(b"", _TreeReader(objects, catch_up))
        for responder in (
            cmdrsp.GetCommandResponder,
            cmdrsp.NextCommandResponder,
            cmdrsp.BulkCommandResponder,
            cmdrsp.SetCommandResponder,
        ):
            responder(self._engine, snmp_context)

    def close(self) -> None:
        """Free the socket."""
        self._engine.close_dispatcher()
