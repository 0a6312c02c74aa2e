"""How far one record moves the certified scores, space by space."""

import one_thread  # noqa: F401
from jobs import job, save_table

with job(snakemake):
    import pandas as pd
    from audits import measure_sensitivity

    save_table(snakemake.output[0], pd.DataFrame(measure_sensitivity(snakemake.params.settings)))
