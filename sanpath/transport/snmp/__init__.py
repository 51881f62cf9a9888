"""SNMP sessions: pysnmp, and gufo-snmp where it reads the same values with a fraction of the processor time."""
