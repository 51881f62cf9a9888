"""SNMP sessions: pysnmp, and gufo-snmp where it reads the same for a fraction of the processor time."""
