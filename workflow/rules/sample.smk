# Draws of every budget cell. One rule for several cells, so that short ones share a job; each cell
# has a file and a random stream of its own.
# In: data.npz, fit.json. Out: cells/<group>/<cell>.<sampler>.npz.
for part in [part for study in STUDIES.values() for part in study.sampling_jobs]:

    rule:
        name:
            f"sample_{part.name}".replace(".", "_").replace("-", "_").replace("+", "_")
        input:
            data=group_file(part.study, part.group, "data.npz"),
            fit=group_file(part.study, part.group, "fit.json"),
        output:
            [cell_file(part.study, part.group, cell, part.sampler) for cell in part.cells],
        log:
            f"{RESULTS}/{part.study}/logs/{part.group}/sample_{part.sampler}_{part.index}.log",
        conda:
            "../../envs/environment.yaml"
        params:
            **STUDIES[part.study].sampled_mechanism(part.sampler, part.group),
            study=part.study,
            group=part.group,
            cells=part.cells,
            sampler=part.sampler,
            draws=STUDIES[part.study].draws_of(part.sampler),
            settings=STUDIES[part.study].sampler_settings(part.sampler),
            seed=config["seed"],
            code=code("sample.py", STUDIES[part.study].sampling_module(part.sampler)),
            lock=LOCK,
        message:
            f"{part.study}, {part.group}: draws of {len(part.cells)} cells ({part.sampler} sampler)"
        script:
            "../scripts/sample.py"
