"""`python -m fxls.debug_entry`: the name by which launch configurations start an entry.

The program is `fxls.launching.entry_program`.
"""

import sys

from fxls.launching.entry_program import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
