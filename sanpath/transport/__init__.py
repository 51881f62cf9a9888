"""The connections that the recorder gives to collectors: SNMP, HTTPS, SSH, and recorded answers instead of them."""
