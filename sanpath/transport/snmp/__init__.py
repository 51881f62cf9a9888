"""SNMP sessions: pysnmp, and gufo-snmp if it reads the same values with a fraction of the processor time."""
