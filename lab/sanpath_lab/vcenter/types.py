"""pyVmomi for the simulated vCenter. It has no annotations, so all of its types are Any."""

from __future__ import annotations

from typing import Any

import pyVmomi

_untyped: Any = pyVmomi
vim: Any = _untyped.vim
vmodl: Any = _untyped.vmodl
SoapAdapter: Any = _untyped.SoapAdapter
VmomiSupport: Any = _untyped.VmomiSupport
