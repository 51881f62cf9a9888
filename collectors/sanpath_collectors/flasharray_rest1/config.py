"""The configuration of a FlashArray that offers only REST 1."""

from __future__ import annotations

from pydantic import Field

from sanpath_collectors.flasharray.config import FlashArrayConfig


class FlashArrayRest1Config(FlashArrayConfig):
    """A FlashArray that is read over REST 1."""

    every_seconds: float = Field(
        default=5.0, gt=0, description="seconds between polls; the array's own samples are five seconds apart"
    )
