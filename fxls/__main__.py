"""`python -m fxls` is the command line.

In a folder with a file `fxls.py`, Python runs that file instead, and nobody can help it:
`fxls`, or `python -P -m fxls`, is what a program should start.
"""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # The current folder, which may have a file of the name of any library.
        sys.path.pop(0)

    from fxls.cli import main

    sys.exit(main())
