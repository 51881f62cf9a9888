"""The connections that the recorder lends to collectors: SNMP, HTTPS, SSH, and recorded answers in their place."""
