# Draws of budget cells.  A job takes a block of the cells of a group, so that short ones share its
# start; each cell has a random stream of its own.
# In: data.npz, fit.json. Out: cells/<group>/<sampler>_<block>.npz with arrays by name, an entry a cell.


rule sample:
    input:
        data=f"{GROUPS}/data.npz",
        fit=f"{GROUPS}/fit.json",
    output:
        f"{RESULTS}/{{study}}/cells/{{group}}/{{sampler}}_{{block}}.npz",
    log:
        f"{RESULTS}/{{study}}/logs/{{group}}/sample_{{sampler}}_{{block}}.log",
    wildcard_constraints:
        sampler=r"[a-z]\w*?",
        block=r"\d+",
    conda:
        "../../envs/environment.yaml"
    threads: share
    params:
        mechanism=lambda wildcards: STUDIES[wildcards.study].sampled_mechanism(
            wildcards.sampler, wildcards.group
        ),
        cells=cells_of_block,
        draws=of_sampler("draws_of"),
        settings=of_sampler("sampler_settings"),
        seed=study_seed,
        code=lambda wildcards: code(
            "sample.py", STUDIES[wildcards.study].sampling_module(wildcards.sampler)
        ),
        lock=LOCK_DIGEST,
    message:
        "{wildcards.study}, {wildcards.group}: draws, block {wildcards.block} ({wildcards.sampler} sampler)"
    script:
        "../scripts/sample.py"
