"""A job that waits for ever: says where it is in the file named by its argument, and that it was interrupted."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    told = Path(sys.argv[1])
    try:
        told.with_suffix(".draft").write_text(str(os.getpid()))
        told.with_suffix(".draft").replace(told)
        time.sleep(300)
    except KeyboardInterrupt:
        told.with_suffix(".interrupted").touch()
        sys.exit(130)
