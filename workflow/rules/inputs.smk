# What rules ask for: inputs that follow from the configuration, and parameters; no rules.


def known(name, names, what, study):
    """The name of a part of a study, if it has one; or a sentence."""
    if name not in names:
        there = f"ask for one of {', '.join(names)}" if names else "it has none"
        sys.exit(f"Error: study {study.name} has no {what} {name}: {there}")
    return name


def group_of(wildcards):
    """Settings of a group of a study."""
    study = STUDIES[wildcards.study]
    return study.groups[known(wildcards.group, study.groups, "group", study)]


def kind_of_table(wildcards):
    """Section of the kind of a computed table."""
    study = STUDIES[wildcards.study]
    known(wildcards.table, study.computed, "table", study)
    return TABLES[study.computed[wildcards.table]["kind"]]


def inputs_of_table(wildcards):
    """Records of the user's file, if it is there, other files, and tables that this one is made of."""
    kind, study = kind_of_table(wildcards), STUDIES[wildcards.study]
    chosen = study.computed[wildcards.table]
    files = [find([path])[0] for path in chosen.get("files", [])]
    found = {name: table_file(study.name, name) for name in kind.reads}
    return found | {"table": study.files.get(wildcards.table) or [], "files": files}


def digests_of_table(wildcards):
    """Digests of these files."""
    found = inputs_of_table(wildcards)
    return [digest_of(path) for path in (found["table"], *found["files"])]


def needs_of(wildcards):
    """What the table of a figure alone needs; one that reads no group has no data and no model."""
    study = STUDIES[wildcards.study]
    own = [name for name in study.settings["figures"] if study.own_table(name) == wildcards.kind]
    known(wildcards.figure, own, f"figure with a table {wildcards.kind}", study)
    needs = getattr(figure_inputs, wildcards.kind)(study, wildcards.figure, STUDIES)
    needs = {"groups": [], "cells": [], "modules": [], "params": {}} | needs
    if needs["groups"]:
        common = {key: study.settings[key] for key in ("manifold", "model")}
        needs["params"] |= common | {"seed": seed_of(study)}
    return needs


def tables_of_figure(wildcards):
    """Files of the tables that a figure shows."""
    study = STUDIES[wildcards.study]
    known(wildcards.figure, study.settings["figures"], "figure", study)
    return [table_file(*table) for table in study.tables_of(wildcards.figure)]


def inputs_of_figure_table(wildcards):
    """Files of groups, and of draws of cells."""
    needs, study = needs_of(wildcards), STUDIES[wildcards.study]
    return {
        "data": [group_file(*group, "data.npz") for group in needs["groups"]],
        "fit": [group_file(*group, "fit.json") for group in needs["groups"]],
        "cells": [
            block_file(study.name, group, sampler, study.block_of[group, cell, sampler])
            for group, cell, sampler in needs["cells"]
        ],
    }


def told(wildcards):
    """What a figure's module is told of it."""
    study = STUDIES[wildcards.study]
    chosen = study.settings["figures"][wildcards.figure]
    is_drawn = not study.computed
    return {
        "figure": chosen,
        # Of data and draws of mechanisms, in place of computed tables.
        "of_draws": is_drawn,
        "grids": study.grids if "grids" in chosen else None,
        "splits": study.splits if is_drawn else None,
        "budgets": study.budgets if is_drawn else None,
        "length_unit": study.length_unit if is_drawn else None,
        "covariate_label": study.settings["covariate_label"],
        "notes": [study.note],
    }


def claimed_tables(paper):
    """Tables that claims of a paper are about, and errors of their studies: files by study and table."""
    found = {}
    with open(CLAIM_FILES[paper], encoding="utf-8", errors="replace", newline="") as text:
        for row in csv.DictReader(text):
            against = (row.get("against") or "").partition(" ")[0]
            for name in {row.get("study"), against} & STUDIES.keys():
                study = STUDIES[name]
                # Or of the first figure for which a table of that kind is made.
                own = {study.own_table(each): each for each in reversed(study.settings["figures"])}
                for table in (row.get("table"), "errors"):
                    if table in study.table_names:
                        found[name, table] = table_file(name, table)
                    elif table and table in own:
                        found[name, table] = table_file(name, f"{own[table]}_{table}")
    return dict(sorted(found.items()))


def seed_of_paper(paper):
    """Seed of the first study that claims name."""
    return next((seed_of(STUDIES[study]) for study, _ in claimed_tables(paper)), config["seed"])


def paper_files(paper):
    """Verdicts and figures of a paper."""
    own = [study for study in STUDIES.values() if study.paper == paper]
    return [*claims_files(paper), *(file for study in own for file in figure_files(study))]


def plan_of_the_configuration(wildcards):
    """The key plan; a sentence if there is none."""
    if "plan" not in config:
        sys.exit("Error: configuration key plan is missing: add it, as config/config.yaml explains")
    return config["plan"]


def command_of_times():
    """The command, for the folder of this run and its configuration, that shows times of jobs."""
    call = ["./run", "snakemake"]
    if Path.cwd() != CHECKOUT:
        call = [CHECKOUT / "run", "snakemake", "-s", CHECKOUT / "workflow" / "Snakefile"]
    call += ["--report", "times.html"]
    call += ["--configfile", *map(os.path.relpath, GIVEN)] if GIVEN else []
    return shlex.join(map(str, call))


def report_figures():
    """Figures of the report, by their paths without suffix: what it says of each."""
    return {
        figure_path(study.name, figure, ""): {
            "paper": PAPER_NAMES.get(study.paper, ""),
            "order": order,
            "study": study.name,
            "studies": sorted({owner for owner, _ in study.tables_of(figure)}),
            "number": chosen.get("number", ""),
            "title": figure_title(figure, chosen.get("number", "")),
            "kind": chosen["kind"],
            # Where no macro of captions.html.j2 is called like the kind.
            "caption": chosen.get("caption", FIGURES[chosen["kind"]].__doc__.partition("\n\n")[0]),
            "warns": study.warns(figure),
            "notes": [study.note],
        }
        for order, study in enumerate(STUDIES.values())
        for figure, chosen in study.settings["figures"].items()
    }


def report_pictures(suffix):
    """An input function: files of the figures of the report."""

    def files(wildcards):
        if not STUDIES:
            sys.exit(
                "Error: there is nothing to report, as the configuration has no studies: give one "
                "that has, with --configfile"
            )
        return [f"{path}{suffix}" for path in report_figures()]

    return files


def report_tables(name):
    """A table of every study of draws that has it."""
    return [
        table_file(study.name, name)
        for study in STUDIES.values()
        if name in study.table_names and not study.computed
    ]
