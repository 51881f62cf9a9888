"""`python -m sanpath.recorder`: the recorder process."""

import os
import sys

from sanpath.recorder.process import main

code = main()
sys.stdout.flush()
sys.stderr.flush()
# A blocking source may hang in its daemon thread; an ordinary exit would wait for what it holds.
os._exit(code)
