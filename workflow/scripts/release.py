"""A private release from its settings, as `geodp release` makes it; its log is public."""

import sys

from reproduction.jobs import job

with job() as snakemake:
    from geodp.errors import DataError
    from geodp_release.ask.cli import printable
    from geodp_release.ask.publish import publish
    from geodp_release.ask.settings import read_settings

    def tell(words):
        print(printable(words), file=sys.stderr)

    try:
        folder, is_new = publish(read_settings(snakemake.params.settings), tell)
    except DataError as problem:
        raise DataError(printable(str(problem))) from None
    tell(f"{'Released' if is_new else 'Released before, and nothing was spent'}: {folder}")
