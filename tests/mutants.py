"""Which changes of a rule does no test notice? The same as `schedulog coverage --mutants PACK_OR_FILE...`."""

import sys

from schedulog.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["coverage", "--mutants", *(sys.argv[1:] or ["core", "classic"])]))
