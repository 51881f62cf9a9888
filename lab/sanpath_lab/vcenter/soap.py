"""SOAP as a vCenter speaks it: pyVmomi writes the replies, as it would write requests."""

from __future__ import annotations

from typing import Any

from sanpath_lab.vcenter.types import SoapAdapter, VmomiSupport

VERSION = "vim.version.v8_0_3_0"
"""The release that the simulated vCenter is."""
VERSIONS_DOCUMENT = (
    '<?xml version="1.0" encoding="UTF-8"?><namespaces version="1.0"><namespace><name>urn:vim25</name>'
    "<version>8.0.3.0</version><priorVersions><version>6.5</version></priorVersions></namespace></namespaces>"
)

_SOAP = "http://schemas.xmlsoap.org/soap/envelope/"
_SCHEMA = "http://www.w3.org/2001/XMLSchema"


class FaultRaised(Exception):  # noqa: N818 - SOAP's word
    """A method answers with a fault."""

    def __init__(self, fault: Any) -> None:
        super().__init__(type(fault).__name__)
        self.fault = fault


def reply(method: str, value: Any) -> bytes:
    """The reply of a method that returns a value; None: it returns nothing."""
    kind = VmomiSupport.GuessWsdlMethod(method).info.result
    values = value if isinstance(value, list) else [] if value is None else [value]
    item = kind.Item if issubclass(kind, list) else kind
    return written_reply(method, "".join(_written("returnval", element, item) for element in values))


def written_reply(method: str, content: str) -> bytes:
    """A reply of which pyVmomi has no types: `content` is XML."""
    return _envelope(f'<{method}Response xmlns="urn:vim25">{content}</{method}Response>')


def fault(value: Any) -> bytes:
    """Return a fault, which is sent with the status 500 (SOAP 1.1, section 6.2)."""
    tag = f"{value._wsdlName}Fault"
    info = VmomiSupport.Object(name=tag, type=object, version=VERSION, flags=0)
    detail = SoapAdapter.SerializeFaultDetail(value, info, VERSION, _spaces())
    detail = detail.replace(f"<{tag}", f'<{tag} xmlns="urn:vim25"', 1)
    text = f"<faultcode>ServerFaultCode</faultcode><faultstring>{value.msg}</faultstring><detail>{detail}</detail>"
    return _envelope(f"<soapenv:Fault>{text}</soapenv:Fault>")


def typed(kind: str, path: str, value: Any) -> Any:
    """Return a property's value as pyVmomi writes it: its lists have an element type."""
    owner = VmomiSupport.GuessWsdlType(kind)
    for element in path.split("."):
        owner = owner._GetPropertyInfo(element).type
    return owner(value) if isinstance(value, list) else value


def reference(kind: str, moid: str) -> Any:
    """A managed object by the name of its type and its id."""
    return VmomiSupport.GuessWsdlType(kind)(moid, None)


def _written(name: str, value: Any, kind: Any) -> str:
    info = VmomiSupport.Object(name=name, type=kind, version=VERSION, flags=0)
    return str(SoapAdapter.SerializeToStr(value, info, VERSION, _spaces()))


def _spaces() -> dict[str, str]:
    return {**SoapAdapter.SOAP_NSMAP, "urn:vim25": ""}


def _envelope(content: str) -> bytes:
    start = f'<soapenv:Envelope xmlns:soapenv="{_SOAP}" xmlns:xsd="{_SCHEMA}" xmlns:xsi="{_SCHEMA}-instance">'
    text = f'<?xml version="1.0" encoding="UTF-8"?>{start}<soapenv:Body>{content}</soapenv:Body></soapenv:Envelope>'
    return text.encode()
