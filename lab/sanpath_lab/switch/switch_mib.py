"""SNMP objects of a simulated switch: the tables of the vendor that its scenario names."""

from __future__ import annotations

from itertools import chain

from sanpath_lab.scenario import Switch
from sanpath_lab.simulation import Simulation
from sanpath_lab.switch import fabric_os_mib, nx_os_mib
from sanpath_lab.switch.if_mib import Objects, system_group
from sanpath_lab.switch.object_tree import ObjectTree
from sanpath_lab.switch.switch_ports import hundredths, switch_ports


def switch_objects(simulation: Simulation, switch: Switch) -> ObjectTree:
    """Return all objects of a switch's agent. Counters are read on request."""
    ports = {
        fabric_switch.name: switch_ports(simulation, fabric_switch)
        for fabric_switch in simulation.scenario.fabric_switches
    }
    local_ports = ports[switch.name]
    objects = system_group(switch, lambda: hundredths(simulation))
    vendors: Objects = {}
    if switch.agent == "fabric_os":
        objects |= fabric_os_mib.interfaces(local_ports)
        vendors = fabric_os_mib.fibre_channel(switch, local_ports)
    else:
        objects |= nx_os_mib.interfaces(local_ports)
    if switch.agent == "nx_os":
        vendors = nx_os_mib.fibre_channel(switch, local_ports, list(chain.from_iterable(ports.values())))
    return ObjectTree(objects | vendors)
