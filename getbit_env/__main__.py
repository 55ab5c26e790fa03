"""`python -m getbit_env`: the command `getbit`, where its script is not on the path."""

import sys

from getbit_env.commands.main import main

if __name__ == "__main__":
    sys.exit(main())
