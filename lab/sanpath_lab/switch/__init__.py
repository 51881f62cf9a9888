"""What a simulated switch answers over SNMP."""
