"""Write the tables that were made into docs/evaluation.md, each between its marks."""

import re
from pathlib import Path


def written(text, made):
    """A page with the blocks of ``made``, such as ``<!-- bands -->`` to ``<!-- end -->``."""
    for block, mark in re.findall(r"((<!-- \w+ -->)\n.*?<!-- end -->)", made, flags=re.DOTALL):
        if mark not in text:
            raise SystemExit(
                f"Error: docs/evaluation.md has no mark {mark}: add it, and <!-- end --> below"
            )
        text = re.sub(f"{mark}.*?<!-- end -->", lambda _, block=block: block, text, flags=re.DOTALL)
    return text


if __name__ == "__main__":
    page = Path(snakemake.params.page)
    text = page.read_text("utf-8")
    for made in snakemake.input:
        text = written(text, Path(made).read_text("utf-8"))
    page.write_text(text, encoding="utf-8")
