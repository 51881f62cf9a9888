"""`python -m sanpath.recorder`: the recorder process."""

import os
import sys

from sanpath.recorder.process import main

code = main()
sys.stdout.flush()
sys.stderr.flush()
# A blocking source may hang in its daemon thread; a normal exit would wait for its locks.
os._exit(code)
