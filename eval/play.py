"""Play in the browser (`docs/play.md`): `getbit play`, from a checkout.

python -m eval.play
python -m eval.play --players 2 --against equilibrium
python -m eval.play --watch --variant sharks-4p-level2
"""

from __future__ import annotations

import sys

from getbit_env.web.command import main

if __name__ == "__main__":
    sys.exit(main())
