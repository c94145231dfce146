"""`python -m fxls` is the command line."""

import sys

from fxls.cli import main

if __name__ == "__main__":
    sys.exit(main())
