"""fio's output formats other than JSON: normal text, terse lines, and the document of fio --client."""
