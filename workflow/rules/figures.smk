# Figures, each as PDF, SVG and PNG with its numbers beside it as CSV. One rule a figure, so that
# each can be asked for by name, such as `figure_sphere_figure_1`; a figure reads only tables.
# In: tables, and for predictions groups and cells. Out: figures/<figure>.pdf, .svg, .png, .csv.
for study in STUDIES.values():
    for figure, chosen in study.settings["figures"].items():

        if chosen["kind"] == "curves":

            rule:
                name:
                    f"predict_{study.name}_{figure}"
                input:
                    data=[group_file(study.name, group, "data.npz") for group in chosen["groups"]],
                    fit=[group_file(study.name, group, "fit.json") for group in chosen["groups"]],
                    cells=[
                        cell_file(study.name, part["group"], cell, "default")
                        for part in study.curve_groups(figure)
                        for cell in part["cells"]
                    ],
                    library=library("predict_curves.py"),
                output:
                    prediction_file(study.name, figure),
                log:
                    f"{RESULTS}/{study.name}/logs/predict_{figure}.log",
                conda:
                    "../../envs/environment.yaml"
                params:
                    study=study.name,
                    manifold=study.settings["manifold"],
                    groups=study.curve_groups(figure),
                    seed=config["seed"],
                    lock=LOCK,
                script:
                    "../scripts/predict_curves.py"

        if chosen["kind"] in PREDICTED:

            rule:
                name:
                    f"predict_{study.name}_{figure}"
                input:
                    data=group_file(study.name, study.shown_group(figure), "data.npz"),
                    fit=group_file(study.name, study.shown_group(figure), "fit.json"),
                    cells=[
                        cell_file(study.name, study.shown_group(figure), chosen["cell"], sampler)
                        for sampler in study.shown_samplers(figure)
                    ],
                    library=library("predict_at_values.py"),
                output:
                    prediction_file(study.name, figure),
                log:
                    f"{RESULTS}/{study.name}/logs/predict_{figure}.log",
                conda:
                    "../../envs/environment.yaml"
                params:
                    study=study.name,
                    name=figure,
                    manifold=study.settings["manifold"],
                    figure=chosen,
                    samplers=study.shown_samplers(figure),
                    seed=config["seed"],
                    transformation=study.settings["data"].get("transformation", "none"),
                    lock=LOCK,
                script:
                    "../scripts/predict_at_values.py"

        if chosen["kind"] == "transport":

            rule:
                name:
                    f"transport_{study.name}_{figure}"
                input:
                    library=library("transport_loop.py"),
                output:
                    figure_table(study, figure),
                log:
                    f"{RESULTS}/{study.name}/logs/transport_{figure}.log",
                conda:
                    "../../envs/environment.yaml"
                params:
                    study=study.name,
                    lock=LOCK,
                script:
                    "../scripts/transport_loop.py"

        if chosen["kind"] == "convergence":

            rule:
                name:
                    f"converge_{study.name}_{figure}"
                input:
                    **convergence_inputs(study, figure),
                    library=library("converge.py"),
                output:
                    figure_table(study, figure),
                log:
                    f"{RESULTS}/{study.name}/logs/converge_{figure}.log",
                conda:
                    "../../envs/environment.yaml"
                params:
                    study=study.name,
                    manifold=study.settings["manifold"],
                    reduced=chosen.get("reduced")
                    and STUDIES[chosen["reduced"]].settings["manifold"],
                    figure=chosen,
                    budgets=study.cells[study.shown_group(figure)][chosen["cell"]],
                    sampler=study.sampler_settings("default"),
                    step_scale=study.settings["random_walk"]["step_scale"],
                    warm_up=study.settings["random_walk"]["warm_up"],
                    seed=config["seed"],
                    lock=LOCK,
                script:
                    "../scripts/converge.py"

        rule:
            name:
                f"figure_{study.name}_{figure}"
            input:
                table=figure_table(study, figure),
                library=library(f"figure_{chosen['kind']}.py"),
            output:
                pdf=figure_path(study.name, figure, "pdf"),
                svg=report(
                    figure_path(study.name, figure, "svg"),
                    caption=f"../report/{chosen['kind']}.rst",
                    category=study.name,
                    labels={"figure": figure},
                ),
                png=figure_path(study.name, figure, "png"),
                csv=figure_path(study.name, figure, "csv"),
            log:
                f"{RESULTS}/{study.name}/logs/figure_{figure}.log",
            conda:
                "../../envs/environment.yaml"
            params:
                study=study.name,
                figure=chosen,
                grids=study.grids if chosen["kind"] == "error" else None,
                splits=study.splits,
                length_unit=study.length_unit,
                covariate_label=study.settings["covariate_label"],
                note=study.note,
                lock=LOCK,
            script:
                figure_script(vars())
