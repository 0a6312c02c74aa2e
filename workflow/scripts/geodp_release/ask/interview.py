"""Settings of a new release, by questions about a table of which only the header is read.

Answers are what is publicly known; guesses come from the names of columns alone.
"""

import re
from pathlib import Path

import yaml

from geodp.data.angles import told_angle
from geodp.data.cells import TableReading, finite_number
from geodp.data.columns import PAIRS, PointColumns, told_columns, told_pair, told_shares
from geodp.data.dates import UNITS, is_day
from geodp.data.formats import open_table, table_kind
from geodp.data.landmark_files import LandmarkFile
from geodp.data.messages import landmarks_error
from geodp.errors import DataError
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.registry import MANIFOLDS, make_manifold
from geodp.mechanisms.budgets import parse_budget
from geodp_release.run.grouping import ONE_EACH
from geodp_release.show.templates import render


class Interview:
    """Questions, each with a default and a check of its answer; units and sources of answers.

    ``ask`` takes a question, as `input` does, and ``tell`` a sentence; where an answer cannot be
    used one that ``is_patient`` asks again.
    """

    def __init__(self, ask, tell, is_patient):
        self.ask, self.tell, self.is_patient = ask, tell, is_patient
        self.units: dict[str, str] = {}
        self.sources: dict[str, str] = {}

    def __call__(self, question, default="", check=str):
        """An answer as ``check`` makes it, which raises a `DataError` for one of no use."""
        while True:
            try:
                given = self.ask(f"{question} [{default}]: " if default else f"{question}: ")
            except EOFError:
                raise DataError(f"no answer is left for: {question}: give one a line") from None
            try:
                return check(given.strip() or default)
            except DataError as problem:
                if not self.is_patient:
                    raise DataError(f"{question}: {problem}") from None
                self.tell(f"  {problem}")

    def choice(self, question, default, choices):
        return self(question, default, lambda text: _one_of(text, choices))

    def is_so(self, question, default="no"):
        return self.choice(question, default, ("yes", "no")) == "yes"

    def optional(self, question, check=str, default="none"):
        """An answer, or ``None`` for the default."""
        return self(question, default, lambda text: None if text == default else check(text))

    def unit(self, name):
        """Ask for the unit of a column."""
        if unit := self.optional(f"Unit of {name}"):
            self.units[name] = unit

    def source(self, key, question="Source of this answer, for readers"):
        """Ask where a public input comes from; no source is published that nobody typed."""
        if source := self.optional(question, default="not stated"):
            self.sources[key] = source


def new_settings(table, path, interview):
    """Ask for the settings of a release from a table, and write them to a new file at a path.

    What cannot be read, overwritten or used is a `DataError`.
    """
    if Path(path).exists():
        raise DataError(f"{path} is there already: give another by --output")
    stem = stem_of(table)
    name = re.sub("[^A-Za-z0-9_-]+", "-", stem.name).strip("-") or "release"
    given = _answers(table, interview) | {"name": name, "stem": str(stem), "file": path}
    text = render("settings.yaml.j2", None, {"yaml": _yaml}, **given)
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except OSError as problem:
        raise DataError(f"{path} cannot be written ({problem.strerror}): give another") from None
    # Slow to load: not before the first question.
    from geodp_release.ask.settings import read_settings

    try:
        read_settings(path)
    except DataError:
        Path(path).unlink()
        raise


def stem_of(table):
    """The path of a table without its suffix; a folder such as "." is called by its name."""
    path = Path(table)
    path = path if path.name else path.resolve()
    if not (table and path.name):
        raise DataError(f"{table or 'nothing'} is no table: give the path of one")
    return path.with_suffix("")


def _yaml(value):
    """A value of a template as YAML of one line."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**6)
    return text.removesuffix("\n").removesuffix("\n...")


def _answers(path, ask):
    """Values of the template of settings."""
    table, data, landmarks = _opened(path, ask)
    names = table.names
    if any(finite_number(name) is not None for name in names):
        raise DataError(
            f"{path}: its first row has numbers, which are no names: add a row of names"
        )
    manifold, columns, data["coordinates"] = _responses(path, table, ask)
    rest = [name for name in names if name not in columns]
    data["columns"] = None if landmarks else columns
    data["covariates"] = ask(
        "Covariates, with commas between; none for a mean",
        next(filter(_is_covariate, rest), "none"),
        lambda text: (
            [] if text == "none" else [_one_of(each, rest or ["none"]) for each in _list(text)]
        ),
    )
    labels = [name for name in rest if name not in data["covariates"]]
    data["subject"] = ask.choice(
        f"Column with the subject of each record; or {ONE_EACH}",
        next(filter(is_subject, labels), ONE_EACH),
        [*labels, ONE_EACH],
    )
    found = {"data": data, "manifold": manifold, "units": ask.units, "sources": ask.sources}
    found["covariates"] = [_covariate(name, ask) for name in data["covariates"]]
    return found | _public_inputs(data, make_manifold(**manifold), ask)


def is_subject(name):
    """Whether a column may say whose each record is, by its name."""
    return re.fullmatch("(.*_)?id|id_.*|subject|patient|person|participant|code", name, re.I)


def _is_covariate(name):
    beginnings = "age|year|time|day|dose|alter|jahr|tage|centroid|.*dat(e|um)$|dob$"
    return re.match(beginnings, name, re.I)


def _opened(path, ask):
    """The table, how it is read, and how many landmarks its specimens have."""
    landmarks = None
    if issubclass(table_kind(path), LandmarkFile):
        landmarks = ask("Number of landmarks of each specimen", check=_count)
    table = open_table(path, landmarks=landmarks)
    data = {"path": path, "sheet": None, "decimal": "."}
    if len(sheets := getattr(table, "sheets", [])) > 1:
        data["sheet"] = ask.choice("Sheet with the records", sheets[0], sheets)
        table = open_table(path, reading=TableReading(sheet=data["sheet"]))
    if getattr(table, "has_open_lists", False):
        length = ask("Length of each list in the table", check=_count)
        table = open_table(path, reading=TableReading(length=length))
    if getattr(table, "delimiter", ",") == ";":
        data["decimal"] = ask.choice("Decimal sign", ",", (",", "."))
    return table, data, landmarks


def _responses(path, table, ask):
    """Settings of the space of responses, their columns, and what these hold."""
    names = table.names
    told, pair = _told(names), told_pair(names)
    spaces = {name: kind.responses for name, kind in MANIFOLDS.items() if kind.responses}
    ask.tell(f"{path} has the columns {', '.join(names)}. Responses can be")
    for word, what in spaces.items():
        ask.tell(f"  {word}: {what}")
    guess = told.space if told else "sphere" if pair else "euclidean"
    space = ask.choice("Space of the responses", guess, spaces)
    if isinstance(table, LandmarkFile) and space != "kendall":
        raise landmarks_error(path)
    if told and told.space == space:
        return {"name": space, "size": told.size}, told.columns, told.coordinates
    several = [name for name in names if len(table.numbered([name])) > 1]
    columns = ask(
        "Columns of a response, in order, with commas between",
        ", ".join(pair[1] if pair and space == "sphere" else several),
        lambda text: [_one_of(each, names) for each in _list(text) or [""]],
    )
    number = len(table.numbered(columns))
    if space in ("sphere", "projective") and number == len(columns) == 2:
        columns = _latitude_first(columns, ask, space == "projective")

    def asked(question, default, choices=None):
        return ask.choice(question, default, choices) if choices else ask(question, default)

    given, coordinates = MANIFOLDS[space].asked(columns, number, asked)
    return {"name": space, **given}, columns, coordinates


def _told(names):
    """`PointColumns` that names tell of: of an angle where nothing else may be a response."""
    angles = {name: unit for name in names if (unit := told_angle(name))}
    others = {name for name in names if not (_is_covariate(name) or is_subject(name))}
    if len(angles) == 1 and others <= {*angles}:
        [(name, unit)] = angles.items()
        return PointColumns("sphere", 1, [name], unit)
    return told_columns(names) or told_shares(names)


def _latitude_first(columns, ask, are_axes):
    """The columns of two angles of a direction, that of a latitude first."""
    word, _ = told_pair(columns) or ("latitude_longitude", columns)
    word = ask.choice(f"Kind of the two angles, in degrees: {', '.join(PAIRS)}", word, PAIRS)
    question = "Are two opposite directions different, as they are not for lines and planes"
    is_line = word == "trend_plunge" and not are_axes and not ask.is_so(question)
    if is_line or word == "strike_dip":
        raise DataError(
            "lines and planes without a direction are axes, not points of a sphere: answer "
            "projective to the question for the space, and give the poles of planes"
        )
    return columns if word == "latitude_longitude" else columns[::-1]


def _covariate(name, ask):
    """Name, range, spread, words and dates of a covariate."""
    given = {"name": name, "spread": "unknown", "words": {}, "dates": None}
    is_dated = re.fullmatch(".*dat(e|um)|dob", name, re.IGNORECASE)
    if is_dated and ask.is_so(f"Are the values of {name} dates, such as 2020-01-31", "yes"):
        question = f"Earliest and latest {name} that is possible, by public knowledge"
        days = ask(f"{question}, such as 2000-01-01, 2020-12-31", check=lambda t: _pair(t, _day))
        ask.source("covariate_range")
        unit = ask.choice("Unit of the time since the earliest date", "years", UNITS)
        return given | {"range": days, "dates": {"since": days[0], "unit": unit}}
    words = ask.optional(
        f"Categories of {name}: words, the reference first, such as north, south, west; or words "
        f"with numbers, such as F=0, M=1; none if {name} is a number",
        _categories,
    )
    if isinstance(words, list):
        # Each is a group, and has no number.
        return given | {"words": words}
    if words:
        limits, is_two = [min(words.values()), max(words.values())], len(words) == 2
    else:
        limits = ask(
            f"Least and greatest {name} that is possible, by public knowledge, such as 50, 90",
            check=lambda text: _pair(text, _number),
        )
        ask.source("covariate_range")
        is_two = ask.is_so(f"Does {name} take these two values only")
        ask.unit(name)
    if is_two:
        ask.source("covariate_spread", f"Source of the knowledge that {name} has two values")
    spread = "two groups" if is_two else "unknown"
    return given | {"range": limits, "spread": spread, "words": words or {}}


def _public_inputs(data, space, ask):
    names = ", ".join(data["columns"] or [])
    unit = f", in {space.length_unit}," if space.length_unit else ""
    given: dict = {"records": 1, "radius": None, "length": None, "scale": None}
    if data["subject"] != ONE_EACH:
        given["records"] = ask("Most records of a subject that count", "1", _count)
    given["subjects"] = ask("Number of subjects, as publicly known", check=_count)
    ask.source("subjects")
    is_named = type(space) is Euclidean and len(data["columns"]) == space.dim
    for name in data["columns"] if is_named else ():
        ask.unit(name)
    centre = ask.optional(
        "Centre: a rough response in the middle of all ranges, known without these data, as "
        f"numbers with commas between{f' ({names})' if names else ''}; or anywhere",
        lambda text: _centre(space, list(map(_number, _list(text))), data["coordinates"]),
        default="anywhere",
    )
    given["centre"] = centre or "anywhere"
    if centre:
        ask.source("centre")
        given["radius"] = ask.optional(
            f"Largest distance{unit} of the released response from the centre; none for no limit",
            _above_zero,
        )
    if given["radius"]:
        ask.source("footpoint_radius")
        if data["covariates"]:
            given["length"] = ask(
                f"Largest change of the response{unit} over the range of a covariate",
                f"{2 * given['radius']:g}",
                _above_zero,
            )
            ask.source("shooting_vector_length")
        given["scale"] = ask.optional(
            f"Standard deviation{unit} of responses about their trend, by earlier studies; none "
            "if it is not known",
            _above_zero,
        )
        if given["scale"]:
            ask.source("residual_scale")
    given["description"] = ask("Description of the data, a line for readers", "records")
    given["epsilon"] = ask(
        "Privacy budget epsilon of this release",
        "1",
        lambda text: str(parse_budget(text, "epsilon")),
    )
    return given


def _centre(space, numbers, coordinates):
    """Numbers of a centre, if they make one."""
    # Slow to load: not before the first question.
    from geodp_release.ask.wording import centre_of

    centre_of(space, numbers, coordinates)
    return numbers


def _list(text):
    return [each.strip() for each in text.split(",") if each.strip()]


def _number(text, is_right=lambda value: True, what="a number"):
    value = finite_number(text)
    if value is None or not is_right(value):
        raise DataError(f"{text or 'nothing'} was given: give {what}")
    return value


def _above_zero(text):
    return _number(text, lambda value: value > 0.0, "a number above zero")


def _count(text):
    what = "a whole number from 1 on"
    return int(_number(text, lambda value: value >= 1.0 and value.is_integer(), what))


def _day(text):
    if not is_day(text):
        raise DataError(f"{text} was given: give a date such as 2000-01-31")
    return text


def _pair(text, check):
    values = [check(each) for each in _list(text)]
    if len(values) != 2 or not values[0] < values[1]:
        raise DataError(
            f"{text or 'nothing'} was given: give two, the smaller first, with a comma between"
        )
    return values


def _one_of(text, choices):
    if text not in choices:
        raise DataError(f"{text or 'nothing'} was given: choose from {', '.join(choices)}")
    return text


def _categories(text):
    """Numbers by words, or words in the order in which they were given."""
    parts = _list(text)
    numbers = {word.strip(): number for word, _, number in (each.rpartition("=") for each in parts)}
    words = [*numbers] if "=" in text else [*dict.fromkeys(parts)]
    if len(words) < max(len(parts), 2) or "" in words:
        raise DataError(f"{text} was given: give two different words or more, such as F=0, M=1")
    return {word: _number(numbers[word].strip()) for word in words} if "=" in text else words
