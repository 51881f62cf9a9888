"""Whose bytes a port carries: measured, certain at least, or not known."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sanpath.facts.fabric.test_shares import (
    Shares,
    crossings,
    on_loaded_path,
    other_path_idle,
    shares_of_open_links,
    shares_of_test,
    with_open_host_links,
