# Draws of every budget cell. One rule a block of cells, so that short cells share a job while each
# keeps a file and a random stream of its own.
# In: data.npz, fit.json. Out: cells/<group>/<cell>.<sampler>.npz.
for block in [block for study in STUDIES.values() for block in study.blocks]:

    rule:
        name:
            f"sample_{block.name}".replace(".", "_").replace("-", "_").replace("+", "_")
        input:
            data=group_file(block.study, block.group, "data.npz"),
            fit=group_file(block.study, block.group, "fit.json"),
        output:
            [cell_file(block.study, block.group, cell, block.sampler) for cell in block.cells],
        log:
            f"{RESULTS}/{block.study}/logs/{block.group}/sample_{block.sampler}_{block.index}.log",
        conda:
            "../../envs/environment.yaml"
        params:
            **STUDIES[block.study].mechanism_settings,
            study=block.study,
            group=block.group,
            cells=block.cells,
            sampler=block.sampler,
            draws=STUDIES[block.study].draws,
            settings=STUDIES[block.study].sampler_settings(block.sampler),
            seed=config["seed"],
            code=code("sample.py", STUDIES[block.study].mechanism_module),
            lock=LOCK,
        message:
            f"{block.study}, {block.group}: draw from {len(block.cells)} cells ({block.sampler} sampler)"
        script:
            "../scripts/sample.py"
