# Figures, each as PDF, SVG and PNG with its numbers as CSV. Each figure has a rule of its own, such
# as `figure_sphere_figure_1`. It reads one table, of the study or made for this figure alone.
# In: tables, groups and cells. Out: tables/<figure>_<kind>.csv;
# figures/<figure>.pdf, .svg, .png, .csv.


def table_needs(study, figure, kind):
    """Inputs of a figure's own table, and parameters of its job."""
    needs = import_module(f"reproduction.tables.{kind}").needs(study, figure, STUDIES)
    inputs = {
        name.split(".")[0]: [group_file(*group, name) for group in needs.groups]
        for name in needs.files
    }
    inputs["cells"] = [
        block_file(study.name, group, sampler, study.block_of[group, cell, sampler])
        for group, cell, sampler in needs.cells
    ]
    # A table that reads no group has neither data nor a model.
    common = {
        "manifold": study.settings["manifold"],
        "model": study.settings["model"],
        "seed": config["seed"],
    }
    depends = needs.params | (common if needs.groups else {})
    depends["code"] = code("table.py", f"reproduction.tables.{kind}", *needs.modules)
    return inputs, depends


for study in STUDIES.values():
    for figure, chosen in study.settings["figures"].items():
        table, kind = figure_table(study, figure)

        if kind:
            inputs, depends = table_needs(study, figure, kind)

            rule:
                name:
                    f"table_{study.name}_{figure}"
                input:
                    **inputs,
                output:
                    table,
                log:
                    f"{RESULTS}/{study.name}/logs/table_{figure}.log",
                # Walks take long, and other tables seconds.
                localrule: kind != "convergence"
                conda:
                    "../../envs/environment.yaml"
                params:
                    **depends,
                    study=study.name,
                    kind=kind,
                    lock=LOCK_DIGEST,
                message:
                    f"{study.name}: tabulate {kind} for {figure}"
                script:
                    "../scripts/table.py"

        rule:
            name:
                f"figure_{study.name}_{figure}"
            input:
                table=table,
            output:
                pdf=figure_path(study.name, figure, "pdf"),
                svg=figure_path(study.name, figure, "svg"),
                png=figure_path(study.name, figure, "png"),
                csv=figure_path(study.name, figure, "csv"),
            log:
                f"{RESULTS}/{study.name}/logs/figure_{figure}.log",
            localrule: True
            conda:
                "../../envs/environment.yaml"
            params:
                study=study.name,
                figure=chosen,
                grids=study.grids if chosen["kind"] == "error" else None,
                splits=study.splits,
                budgets=study.budgets,
                mechanism=study.shown_mechanism(figure),
                length_unit=study.length_unit,
                covariate_label=study.settings["covariate_label"],
                notes=figure_notes(study, figure),
                code=code("figure.py", f"reproduction.figures.{chosen['kind']}"),
                lock=LOCK_DIGEST,
            message:
                f"{study.name}: plot {figure}"
            script:
                "../scripts/figure.py"
