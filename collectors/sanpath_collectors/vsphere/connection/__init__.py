"""How the collector speaks with a vCenter or an ESXi host: sessions, SOAP calls, esxcli, counter queries."""
