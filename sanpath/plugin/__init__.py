"""Everything a collector may import. API version 1; what is not here is private to sanpath.

A collector reads one kind of source. It never sleeps, retries, writes files, computes rates or knows other sources.
The recorder owns the schedule, the deadline, retries and back-off, the threads and the recording. Connections
come from the context (`ctx.snmp`, `ctx.http`, `ctx.machine`), so that a case folder can replay them.

A folder `collectors/sanpath_collectors/<name>/` exports one object, COLLECTOR, from its `__init__.py`:

    COLLECTOR = Spec(name="snmp_switch", title="A switch over SNMP", config=SnmpSwitchConfig,
                     collector="sanpath_collectors.snmp_switch.collector:SnmpSwitch", tables=(SWITCH_PORT, SWITCH))

Importing that module must not import a vendor's library: listing collectors has to stay cheap.

A collector offers at least one of three interfaces:

    Collector     polls a device, or follows a file that grows (FollowedFile)     a source of sanpath.yaml
    LoadReader    reads the output of a load command that the recorder starts     sanpath run -- COMMAND
    ResultReader  reads a file that a load generator or a host has left behind    sanpath import FILE

A collector whose source stores past values (KeepsHistory) can also import a test that is over.
"""

from __future__ import annotations

from pydantic import SecretStr

from sanpath.catalogue.cloud import Cloud, CloudLimit, clouds
from sanpath.catalogue.values import FIO_OVER_NETWORK, WORKING_STATES
from sanpath.errors import CollectorError, Failure
from sanpath.extras import SNMPV3 as SNMPV3_EXTRA
from sanpath.extras import SSH as SSH_EXTRA
from sanpath.extras import Extra
from sanpath.model import Column, Event, Rows, SourceEntity, SourceLink, Table
from sanpath.plugin.collector import API, Check, Collector, HistoryItem, Item, KeepsHistory, Right, Spec
from sanpath.plugin.config import SourceConfig, ca_file_field, verify_tls_field
from sanpath.plugin.connections import (
    ClientCertificate,
    Clock,
    CommandReply,
    Context,
    Cost,
    Files,
    Http,
    HttpReply,
    Machine,
    Snmp,
    SnmpCredentials,
    SnmpUser,
    SnmpValue,
    SshTarget,
)
from sanpath.plugin.growing_file import FollowedFile, FollowedFileConfig
from sanpath.plugin.identifiers import wwn
from sanpath.plugin.line_document import LineDocument, LineDocumentReader
from sanpath.plugin.load import (
    LOAD_COUNTERS,
    LOAD_PERCENTILES,
    LoadProfile,
    LoadReader,
    LoadStep,
    Totals,
    WrappedCommand,
    histogram,
    is_block_device,
)
from sanpath.plugin.messages import name_list
from sanpath.plugin.pacing import BusyError, LessOften, wait_seconds
from sanpath.plugin.printed_result import PrintedResult
from sanpath.plugin.result_reader import ResultClock, ResultFile, ResultReader, SelectingReader, warning
from sanpath.plugin.rows import INTEGER_LIMIT, rows_of
from sanpath.plugin.server_clock import DatedHttp, ServerClock
from sanpath.plugin.text import Decoder, Lines, LineSplitter, text_of
from sanpath.plugin.unknown_values import common_value, complete_sum, without_none
from sanpath.plugin.untrusted_json import (
    excerpt,
    json_answer,
    json_object,
    json_objects,
    json_texts,
    read_json,
    read_whole_items,
    read_yaml,
)
from sanpath.units import counted as quantity

__all__ = [
    "API",
    "FIO_OVER_NETWORK",
    "INTEGER_LIMIT",
    "LOAD_COUNTERS",
    "LOAD_PERCENTILES",
    "SNMPV3_EXTRA",
    "SSH_EXTRA",
    "WORKING_STATES",
    "BusyError",
    "Check",
    "ClientCertificate",
    "Clock",
    "Cloud",
    "CloudLimit",
    "Collector",
    "CollectorError",
    "Column",
    "CommandReply",
    "Context",
    "Cost",
    "DatedHttp",
    "Decoder",
    "Event",
    "Extra",
    "Failure",
    "Files",
    "FollowedFile",
    "FollowedFileConfig",
    "HistoryItem",
    "Http",
    "HttpReply",
    "Item",
    "KeepsHistory",
    "LessOften",
    "LineDocument",
    "LineDocumentReader",
    "LineSplitter",
    "Lines",
    "LoadProfile",
    "LoadReader",
    "LoadStep",
    "Machine",
    "PrintedResult",
    "ResultClock",
    "ResultFile",
    "ResultReader",
    "Right",
    "Rows",
    "SecretStr",
    "SelectingReader",
    "ServerClock",
    "Snmp",
    "SnmpCredentials",
    "SnmpUser",
    "SnmpValue",
    "SourceConfig",
    "SourceEntity",
    "SourceLink",
    "Spec",
    "SshTarget",
    "Table",
    "Totals",
    "WrappedCommand",
    "ca_file_field",
    "clouds",
    "common_value",
    "complete_sum",
    "excerpt",
    "histogram",
    "is_block_device",
    "json_answer",
    "json_object",
    "json_objects",
    "json_texts",
    "name_list",
    "quantity",
    "read_json",
    "read_whole_items",
    "read_yaml",
    "rows_of",
    "text_of",
    "verify_tls_field",
    "wait_seconds",
    "warning",
    "without_none",
    "wwn",
]
