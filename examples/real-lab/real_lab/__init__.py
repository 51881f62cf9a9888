"""A real bottleneck on one machine: namespaces, a rate-limited switch port, an SNMP agent and an NBD array."""
