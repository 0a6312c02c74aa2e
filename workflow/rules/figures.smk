# Figures, each as PDF, SVG and PNG with its numbers as CSV. Each has a rule of its name, such as
# `figure_sphere_figure_1`. It reads a table of the study, or one that is made for it alone; those that
# read what `evaluate` writes are drawn by one job.
# In: tables, groups and cells. Out: tables/<figure>_<kind>.csv;
# figures/<figure>.pdf, .svg, .png, .csv.


def table_needs(study, figure, kind):
    """Inputs of a figure's own table, parameters of its job, and modules that it loads by name."""
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
    modules = f"reproduction.tables.{kind}", *needs.modules
    return inputs, needs.params | (common if needs.groups else {}), modules


def drawn_together(study):
    """Figures of a study by the rule that draws them; those of the tables of `evaluate` share one."""
    rules = {}
    for figure in study.settings["figures"]:
        evaluated = kind_of_figure(study, figure).TABLE in ("errors", "diagnostics")
        name = f"figures_{study.name}" if evaluated else f"figure_{study.name}_{figure}"
        rules.setdefault(name, []).append(figure)
    return rules


def told(study, figure):
    """What a figure's module is told of it."""
    chosen = study.settings["figures"][figure]
    return {
        "figure": chosen,
        "grids": study.grids if chosen["kind"] == "error" else None,
        "splits": study.splits,
        "budgets": study.budgets,
        "mechanism": study.shown_mechanism(figure),
        "length_unit": study.length_unit,
        "covariate_label": study.settings["covariate_label"],
        "notes": figure_notes(study, figure),
    }


for study in STUDIES.values():
    for name, figures in drawn_together(study).items():
        tables = [figure_table(study, figure)[0] for figure in figures]
        kind = figure_table(study, figures[0])[1]
        inputs, depends, modules = {"tables": tables}, {}, ()
        if kind:
            inputs, depends, modules = table_needs(study, figures[0], kind)

        rule:
            name:
                name
            input:
                **inputs,
            output:
                **{
                    suffix: [
                        shown_picture(figure_path(study.name, figure, suffix), study.name)
                        for figure in figures
                    ]
                    for suffix in (*PICTURES, "csv")
                },
                **({"tables": tables} if kind else {}),
            log:
                f"{RESULTS}/{study.name}/logs/{name}.log",
            # Walks take long, and other figures seconds.
            localrule: kind != "convergence"
            conda:
                "../../envs/environment.yaml"
            threads: share
            params:
                **depends,
                study=study.name,
                kind=kind,
                figure=study.settings["figures"][figures[0]],
                figures=[told(study, figure) for figure in figures],
                code=code(
                    "figures.py",
                    *(kind_of_figure(study, figure).__name__ for figure in figures),
                    *modules,
                ),
                lock=LOCK_DIGEST,
            message:
                f"{study.name}: plot {', '.join(figures)}"
            script:
                "../scripts/figures.py"

        if name == f"figures_{study.name}":
            for figure in figures:

                rule:
                    name:
                        f"figure_{study.name}_{figure}"
                    input:
                        [figure_path(study.name, figure, suffix) for suffix in (*PICTURES, "csv")],
                    message:
                        f"{study.name}: {figure} is there"
