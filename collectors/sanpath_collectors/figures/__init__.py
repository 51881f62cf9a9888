"""Figures that a person read from a screen or a data sheet."""

from sanpath.plugin import Spec

COLLECTOR = Spec(
    name="figures",
    title="Figures read by hand, in YAML or CSV",
    tables=(),
    result="sanpath_collectors.figures.reader:Figures",
)
