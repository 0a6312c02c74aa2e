"""Let jobs stop for ever just before a file with the name in STALL is complete."""

import os
import time
from pathlib import Path

replace = os.replace


def stall(source, target, **options):
    if Path(target).name == os.environ["STALL"]:
        time.sleep(1e6)
    replace(source, target, **options)


os.replace = stall
