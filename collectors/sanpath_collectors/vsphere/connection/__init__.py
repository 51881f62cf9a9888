"""The connection to a vCenter or an ESXi host: sessions, SOAP calls, esxcli, counter queries."""
