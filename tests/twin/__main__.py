"""Writes all numbers: `python -m tests.twin OUT.csv [SENTENCE ...]`."""

import sys
import time

from . import figures, linear, means, notebook
from .registry import SENTENCES


def main(path, *names):
    modules = (figures, linear, means, notebook)  # they fill SENTENCES
    with open(path, "w") as file:
        file.write("sentence,name,value,standard_error\n")
        for name in names or (SENTENCES if modules else ()):
            start = time.process_time()
            for key, (value, error) in SENTENCES[name]().items():
                file.write(f"{name},{key},{value:.6g},{error:.2g}\n")
            file.flush()
            print(f"{time.process_time() - start:7.1f} s  {name}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
