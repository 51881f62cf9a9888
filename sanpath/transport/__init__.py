"""The connections that the recorder lends to collectors: SNMP, HTTPS, and recorded answers in their place."""
