"""Pure Storage FlashArray over REST 1, with the vendor's SDK: for arrays without REST 2."""

from __future__ import annotations

from sanpath.plugin import Extra, Right, Spec
from sanpath_collectors.flasharray_rest1.config import FlashArrayRest1Config
from sanpath_collectors.flasharray_rest1.tables import ARRAY, ARRAY_PORT, HOST, VOLUME

COLLECTOR = Spec(
    name="flasharray_rest1",
    title="Pure Storage FlashArray (REST 1: FA-300, FA-400, early //M)",
    config=FlashArrayRest1Config,
    collector="sanpath_collectors.flasharray_rest1.collector:FlashArrayRest1",
    tables=(ARRAY, VOLUME, HOST, ARRAY_PORT),
    extra=Extra("sanpath[flasharray-rest1]", ("purestorage",)),
    rights=(
        Right(
            "API token of a user with the role readonly",
            "everything that is read",
            "the array's part of the latency is unknown",
        ),
    ),
)
