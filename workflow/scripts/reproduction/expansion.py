"""From a configuration to its studies, with errors for contradictions and missing files."""

from decimal import Decimal
from itertools import chain, product

from geodp.errors import DataError
from geodp.mechanisms.budgets import cell_name, divided_budgets
from geodp.models.blocks import ALL
from reproduction.configuration import ConfigurationError
from reproduction.configuration.figures import MOST_CURVES
from reproduction.configuration.study import TABLES
from reproduction.places import digest_of, find, folders
from reproduction.studies import RANDOM_WALK, RELEASE, STAND_IN, Study


def expand(configuration):
    """The studies of a validated configuration, expanded, by name.

    Refuses missing files, and keys of studies that contradict one another.
    """
    for index, paper in enumerate(configuration["papers"]):
        _check_file(f"papers[{index}].claims", paper["claims"])
    studies = {
        name: _expand_study(name, settings, configuration["cells_per_job"])
        for name, settings in configuration.get("studies", {}).items()
    }
    for study in studies.values():
        for words in _faults(study, studies):
            raise _refused(f"studies.{study.name}{words}")
    return studies


def _refused(words):
    return ConfigurationError(f"configuration key {words}")


def _check_file(key, *paths):
    """Path of the first file as it was found; refuse some that are nowhere."""
    if not (found := find(paths)):
        words = f"there is no file {' or '.join(paths)}{folders(paths[0])}"
        raise _refused(f"{key}: {words}: put it there or correct the path")
    return found[0]


def _expand_study(name, settings, cells_per_job):
    key = f"studies.{name}"
    if "tables" in settings:
        return _expand_tables(name, settings, key)
    table = find_table(settings["data"], f"{key}.data.path")
    settings = settings | {"manifold": _with_digest(settings["manifold"], f"{key}.manifold")}
    study = Study(name, settings, cells_per_job, table, groups={}, cells={}, grids=[])
    written: dict = {}
    budgets = {
        grid: _cells(part, study.budgets, written, f"{key}.budgets.{grid}")
        for grid, part in settings["budgets"].items()
    }
    totals = settings["release"]["totals"] if settings["release"] else []
    released = _cells({"totals": totals}, (ALL,), written, f"{key}.release")
    has_stand_in = settings["data"].get("stand_in") is not None
    for index, entry in enumerate(settings["cells"] or [{"budgets": []}]):
        place = f"{key}.cells[{index}]"
        groups = _groups(study.source, has_stand_in, entry, place)
        study.groups.update(groups)
        for group in groups:
            study.cells.setdefault(group, {})
        for grid in entry["budgets"]:
            if grid not in budgets:
                words = f"there is no grid {grid} under {key}.budgets"
                raise _refused(f"{place}.budgets: {words} (there are: {', '.join(budgets)})")
            for group in groups:
                study.cells[group].update(budgets[grid])
                study.grids.extend((grid, group, cell) for cell in budgets[grid])
    # Two entries, or a repeated budget, may give the same cell.
    study.grids[:] = dict.fromkeys(study.grids)
    for group in study.groups:
        study.cells[group].update(released)
        study.grids.extend((RELEASE, group, cell) for cell in released)
    if not study.groups:
        words = f"all entries give n, which is of stand-ins, and there is a file {table}"
        raise _refused(f"{key}.cells: {words}: add an entry without n")
    return study


def _expand_tables(name, settings, key):
    tables, files = {}, {}
    for table, chosen in settings["tables"].items():
        place = f"{key}.tables.{table}"
        tables[table] = dict(chosen)
        if "manifold" in chosen:
            tables[table]["manifold"] = _with_digest(chosen["manifold"], f"{place}.manifold")
        if chosen.get("data"):
            files[table] = find_table(chosen["data"], f"{place}.data.path")
        for index, path in enumerate(chosen.get("files", [])):
            _check_file(f"{place}.files[{index}]", path)
    settings = settings | {"tables": tables}
    return Study(name, settings, None, None, groups={}, cells={}, grids=[], files=files)


def _cells(part, names, written, key):
    """Budgets of the cells of a grid, by name; refuses equal ones that are written in two ways."""
    try:
        cells = {cell_name(each): each for each in divided_budgets(part, names, key)}
    except DataError as problem:
        raise _refused(problem) from None
    for cell, budgets in cells.items():
        first = written.setdefault(tuple(map(Decimal, budgets.values())), cell)
        if first != cell:
            words = f"the cells {first} and {cell} have the same budgets"
            raise _refused(f"{key}: {words}: write each budget in one way")
    return cells


def find_table(data, key):
    """Path of a study's records: the one that exists of those it names, or ``None``.

    From the section ``data`` and the key of its path; a missing file without a stand-in is
    refused.
    """
    if data["source"] != "table":
        return None
    given = [data["path"]] if isinstance(data["path"], str) else data["path"]
    there = find(given)
    if len(there) > 1:
        raise _refused(f"{key}: there are both {there[0]} and {there[1]}: keep one")
    return None if not there and data["stand_in"] is not None else _check_file(key, *given)


def _with_digest(manifold, key):
    """Settings of a manifold with a digest of its map, so that a changed map runs jobs again."""
    chosen = manifold["landmark_map"]
    if chosen is None or chosen["matrix"] is None:
        return manifold
    found = _check_file(f"{key}.landmark_map.matrix", chosen["matrix"])
    return manifold | {"landmark_map": chosen | {"matrix": found, "digest": digest_of(found)}}


def _groups(source, has_stand_in, entry, place):
    """Groups of an entry of cells, by name."""
    if source == "simulated":
        if "n" not in entry or "noise_variance" not in entry:
            raise _refused(f"{place}: simulated data need n and noise_variance: add them")
        both = product(map(str, entry["noise_variance"]), entry["n"])
        return {f"n{n}_noise{noise}": {"n": n, "noise_variance": noise} for noise, n in both}
    if "noise_variance" in entry or ("n" in entry and not has_stand_in):
        words = "n and noise_variance belong to simulated data and this study reads a table"
        raise _refused(f"{place}: {words}: remove them")
    if source != STAND_IN:
        # Sizes are of stand-ins.
        return {} if "n" in entry else {"observed": {"n": None, "noise_variance": None}}
    names = {f"{STAND_IN}_n{n}": n for n in entry.get("n", ())} or {STAND_IN: None}
    return {name: {"n": n, "noise_variance": None} for name, n in names.items()}


def _faults(study, studies):
    """What contradicts other settings of a study, the key below it first."""
    yield from _faults_of_tables(study) if study.computed else _faults_of_sections(study)
    for name, figure in study.settings["figures"].items():
        own = () if study.computed else _faults_of_figure(study, name, figure)
        for words in chain(own, _faults_across(studies, study, name, figure)):
            yield f".figures.{name}{words}"


def _faults_of_tables(study):
    """Tables that are made of others, which are not there."""
    for table, chosen in study.computed.items():
        for read, columns in TABLES[chosen["kind"]].reads.items():
            if read == table:
                yield f".tables.{table}: it reads a table {read}, which is itself: rename it"
            if reason := study.missing_columns(read, columns):
                yield f".tables.{table}: {reason}"


def _faults_of_sections(study):
    """Draws, a support or walks that the study does not have."""
    if unknown := set(study.settings["draws"]) - set(study.budgets):
        words = f"the mechanism {study.mechanism} draws {', '.join(study.budgets)}"
        yield f".draws.{min(unknown)}: {words}: name one of these"
    if study.settings["support"]["footpoint_centre"] == "truth" and study.source == "table":
        words = "there is no truth for observed data: give coordinates, or fit"
        yield f".support.footpoint_centre: {words}"
    for index, (group, cell) in enumerate(study.walked):
        if words := _no_cell(study, group, cell):
            yield f".random_walk.cells[{index}]: {words}"


def _no_cell(study, group, cell):
    """That a group has not a cell, in words; empty if it has."""
    if cell in (cells := study.cells.get(group, {})):
        return ""
    there = f"its first are: {', '.join(list(cells)[:5])}; groups: {', '.join(study.groups)}"
    return f"there is no cell {cell} in the group {group} ({there}): name another"


def _faults_of_figure(study, name, figure):
    """What a figure shows that its study has not, the key below it first."""
    yield from _faults_of_cells(study, name, figure)
    kind, covariates = figure["kind"], study.settings["model"]["covariates"]
    # Of predictions along one covariate: the name and size of the space that they draw.
    of_one_covariate = {
        "curves": ("sphere", 2, "on the sphere of dimension 2"),
        "shapes": ("kendall", None, "of planar landmarks"),
        "ellipses": ("spd", 2, "of 2 x 2 matrices"),
    }
    if kind in of_one_covariate:
        space, size, words = of_one_covariate[kind]
        if covariates != 1:
            why = f"it shows predictions along one covariate and model.covariates is {covariates}"
            yield f": {why}: remove it"
        own = study.settings["manifold"]
        if own["name"] != space or size not in (None, own["size"]):
            yield f": {kind} are drawn {words} only: remove it"
    if "values" in figure:
        yield from _faults_of_predictions(study, name, figure)
    if kind == "regression" and not covariates:
        yield ": model.covariates is 0, a mean: remove it"
    if kind == "convergence":
        yield from _faults_of_walks(study)


def _faults_of_cells(study, name, figure):
    """Cells of a figure, by grid and group or by name, that are not there or do not go together."""
    grids, is_error = figure.get("grids", []), figure["kind"] == "error"
    # Releases have a row of their own in a figure of errors.
    members = dict.fromkeys(
        (group, grid) for grid, group, _ in study.grids if not (is_error and grid == RELEASE)
    )
    used = (group for group, grid in members if grid in grids)
    groups = figure.get("groups") or list(dict.fromkeys(used)) or [study.first_group]
    for group, grid in product(groups, grids):
        if (group, grid) not in members:
            there = f"(groups: {', '.join(study.groups)})"
            words = f"the group {group} has no cells in the grid {grid} {there}"
            yield f": {words}: name other groups or grids"
    if is_error and len(groups) > MOST_CURVES:
        words = f"name {MOST_CURVES} groups at most"
        yield f".groups: {len(groups)} curves cannot be told apart: {words}"
    drawn = set(grids)
    if "cell" in figure:
        named = [figure["cell"]] if isinstance(figure["cell"], str) else figure["cell"]
        for cell in named:
            if words := _no_cell(study, study.shown_group(name), cell):
                yield f".cell: {words}"
        drawn = {sampler for _, sampler in study.shown_cells(name)}
    if RELEASE in drawn and len(drawn) > 1:
        yield ": releases do not go with other draws: give them a figure of their own"


def _faults_of_predictions(study, name, figure):
    """Covariates outside the known range or without a logarithm; draws that cells do not have."""
    values, known = figure["values"], study.settings["data"].get("covariate_range")
    limits = [0.0, 1.0] if study.source == "simulated" else known
    for index, value in enumerate(values if limits else []):
        if not limits[0] <= value <= limits[1]:
            words = f"lies outside the covariate's range, {limits[0]:g} to {limits[1]:g}"
            yield f".values[{index}]: {value:g} {words}: choose a value within it"
    if study.transformation == "log" and min(values) <= 0:
        yield f".values: {min(values)} has no logarithm: give positive values"
    group = study.shown_group(name)
    for cell, sampler in study.shown_cells(name):
        if sampler == RANDOM_WALK and (group, cell) not in study.walked:
            words = f"name it under studies.{study.name}.random_walk.cells"
            yield f".random_walk: the random walk does not run on the cell {cell}: {words}"
        first, number = next(iter(study.draws_of(sampler).items()))
        if figure["draws"] > number:
            where = "release.draws" if sampler == RELEASE else f"draws.{first}"
            words = f"{figure['draws']} is too large, since {where} is {number}"
            yield f".draws: {words}: lower it or raise that"


def _faults_of_walks(study):
    if study.mechanism != "kng_as_published":
        words = f"not {study.mechanism} of the study {study.name}"
        yield f": the random walk draws kng_as_published, {words}: remove it"


def _faults_across(studies, study, name, figure):
    """What is wrong with what a figure shows of other studies, the key below it first."""
    there = f"(there are: {', '.join(studies)})"
    for owner, table in () if study.own_table(name) else study.tables_of(name):
        if owner not in studies:
            yield f".studies: there is no study {owner} {there}"
        if table not in studies[owner].table_names:
            yield f": the study {owner} has no table {table}: add it, or what it is made of"
        columns = study.columns_of(name)[table]
        if columns and (reason := studies[owner].missing_columns(table, columns)):
            yield f": {reason}"
    if other := figure.get("reduced"):
        if other not in studies:
            yield f".reduced: there is no study {other} {there}"
        yield from (f".reduced{words}" for words in _faults_of_walks(studies[other]))
        if words := _no_cell(studies[other], studies[other].first_group, figure["cell"]):
            yield f".reduced: the study {other}: {words}"
