"""Jetstress: the reports, the configuration and the log of a test of storage for Exchange."""

from sanpath.plugin import Spec
from sanpath_collectors.jetstress.tables import LOAD

COLLECTOR = Spec(
    name="jetstress",
    title="Jetstress 2007, 2010 and 2013, from its report",
    result="sanpath_collectors.jetstress.reader:JetstressReader",
    result_endings=(".html", ".htm", ".xml", ".log"),
    tables=(LOAD,),
)
