"""A private release from its settings; what may tell of the data goes nowhere."""

import sys

from reproduction.jobs import job

with job() as snakemake:
    from geodp.errors import DataError
    from geodp.release.publish import ForHolder, publish
    from geodp.release.settings import read_settings

    def tell(words):
        print(words, file=sys.stderr)

    try:
        folder, is_new = publish(read_settings(snakemake.params.settings), tell)
    except ForHolder as problem:
        raise DataError(problem.public) from None
    tell(f"{'Released' if is_new else 'Released before, and nothing was spent'}: {folder}")
