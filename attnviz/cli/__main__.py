"""`python -m attnviz.cli`."""

import sys

from attnviz.cli.shell import main

if __name__ == "__main__":
    sys.exit(main())
