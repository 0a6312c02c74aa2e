# Figures, each as PDF, SVG and PNG with its numbers beside it as CSV. One rule a figure, so that
# each can be asked for by name, such as `figure_sphere_figure_1`; a figure reads only tables.
# In: tables, and for predictions groups and cells. Out: figures/<figure>.pdf, .svg, .png, .csv.
FORMATS = ("pdf", "svg", "png", "csv")


def figure_path(study, figure, suffix):
    return f"{RESULTS}/{study}/figures/{figure}.{suffix}"


def figure_files(study):
    return [
        figure_path(study.name, figure, suffix)
        for figure in study.settings["figures"]
        for suffix in FORMATS
    ]


def prediction_file(study, figure):
    return f"{RESULTS}/{study}/tables/{figure}_predictions.csv"


def figure_table(study, figure):
    """The table a figure reads."""
    kind = study.settings["figures"][figure]["kind"]
    if kind in ("curves", "shapes"):
        return prediction_file(study.name, figure)
    name = {"error": "errors", "ratios": "neighbours", "samplers": "diagnostics"}[kind]
    return f"{RESULTS}/{study.name}/tables/{name}.csv"


def prediction_groups(study, figure):
    """Groups of a figure of curves with the cells of its grids, largest budgets first."""
    chosen = study.settings["figures"][figure]
    return [
        {
            "group": group,
            **study.groups[group],
            "budgets": [
                study.cells[group][cell]
                for grid, owner, cell in study.grids
                if owner == group and grid in chosen["grids"]
            ],
        }
        for group in chosen["groups"]
    ]


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
                        cell_file(study.name, part["group"], cell_name(*pair), "matched")
                        for part in prediction_groups(study, figure)
                        for pair in part["budgets"]
                    ],
                    library=library("predict_curves.py"),
                output:
                    prediction_file(study.name, figure),
                log:
                    f"{RESULTS}/{study.name}/logs/predict_{figure}.log",
                params:
                    study=study.name,
                    manifold=study.settings["manifold"],
                    groups=prediction_groups(study, figure),
                    lock=LOCK,
                conda:
                    "../../envs/environment.yaml"
                script:
                    "../scripts/predict_curves.py"

        if chosen["kind"] == "shapes":

            rule:
                name:
                    f"predict_{study.name}_{figure}"
                input:
                    data=group_file(study.name, shapes_group(study, figure), "data.npz"),
                    fit=group_file(study.name, shapes_group(study, figure), "fit.json"),
                    cell=cell_file(
                        study.name, shapes_group(study, figure), chosen["cell"], "matched"
                    ),
                    library=library("predict_shapes.py"),
                output:
                    prediction_file(study.name, figure),
                log:
                    f"{RESULTS}/{study.name}/logs/predict_{figure}.log",
                params:
                    study=study.name,
                    name=figure,
                    manifold=study.settings["manifold"],
                    figure=chosen,
                    transformation=study.settings["data"].get("transformation", "none"),
                    lock=LOCK,
                conda:
                    "../../envs/environment.yaml"
                script:
                    "../scripts/predict_shapes.py"

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
            params:
                study=study.name,
                figure=chosen,
                grids=study.grids,
                length_unit=study.settings["length_unit"],
                covariate_label=study.settings["covariate_label"],
                note=study.settings["note"],
                lock=LOCK,
            conda:
                "../../envs/environment.yaml"
            script:
                # Formatted when the job runs: a loop variable would have moved on by then.
                "../scripts/figure_{params.figure[kind]}.py"
