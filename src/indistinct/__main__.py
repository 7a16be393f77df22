"""`python -m indistinct` is the command line."""

import sys

from indistinct.cli import main

if __name__ == "__main__":
    sys.exit(main())
