"""``python -m ffmlp.cli`` is ``ffmlp``."""

import sys

from ffmlp.cli import main

sys.exit(main())
