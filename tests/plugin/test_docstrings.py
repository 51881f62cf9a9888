"""The examples in docstrings of what collectors import."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

from sanpath import plugin


@pytest.mark.parametrize("name", [module.name for module in pkgutil.iter_modules(plugin.__path__)])
def test_examples_in_docstrings_hold(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"sanpath.plugin.{name}")).failed == 0
