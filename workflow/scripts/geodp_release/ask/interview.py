"""Settings of a new release, by questions about a table of which only the header is read.

Answers are what is publicly known; guesses come from the names of columns alone.
"""

import re
from difflib import get_close_matches
from pathlib import Path

import yaml

from geodp.data.angles import told_angle
from geodp.data.cells import TableReading, finite_number
from geodp.data.columns import PAIRS, PointColumns, told_columns, told_pair, told_shares
from geodp.data.dates import UNITS, is_day
from geodp.data.formats import open_table, table_kind
from geodp.data.landmark_files import LandmarkFile
from geodp.errors import DataError
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.registry import MANIFOLDS, make_manifold
from geodp.mechanisms.budgets import parse_budget
from geodp_release.run.grouping import ONE_EACH
from geodp_release.show.templates import render

SPACES = {name: kind.responses for name, kind in MANIFOLDS.items() if kind.responses}

COVARIATE = re.compile("(?i)age|year|time|day|dose|alter|jahr|tage|centroid|.*dat(e|um)$|dob$")
SUBJECT = re.compile("(?i)(.*_)?id|id_.*|subject|patient|person|participant|code")


class Interview:
    """Questions, each with a default and a check of its answer.

    ``ask`` takes a question, as `input` does, and ``tell`` a sentence; where an answer cannot be
    used one that ``is_patient`` asks again.
    """

    def __init__(self, ask, tell, is_patient):
        self.ask, self.tell, self.is_patient = ask, tell, is_patient

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


def new_settings(table, path, interview):
    """Ask for the settings of a release from a table, and write them to a new file at a path.

    What cannot be read, overwritten or used is a `DataError`.
    """
    if Path(path).exists():
        raise DataError(f"{path} is there already: give another by --output")
    stem = Path(table).with_suffix("")
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


def _yaml(value):
    """A value of a template as YAML of one line."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**6)
    return text.removesuffix("\n").removesuffix("\n...")


def _answers(path, interview):
    table, data, landmarks = _opened(path, interview)
    names = table.names
    if any(finite_number(name) is not None for name in names):
        raise DataError(
            f"{path}: its first row has numbers, which are no names: add a row of names"
        )
    told, pair = _told(names), told_pair(names)
    interview.tell(f"{path} has the columns {', '.join(names)}. Responses can be")
    for word, what in SPACES.items():
        interview.tell(f"  {word}: {what}")
    guess = told.space if told else "sphere" if pair else "euclidean"
    space = interview("Space of the responses", guess, _of(*SPACES))
    if told and told.space == space:
        _, size, columns, data["coordinates"] = told
        given = {"size": size}
    else:
        several = [name for name in names if len(table.numbered([name])) > 1]
        columns = interview(
            "Columns of a response, in order, with commas between",
            ", ".join(pair[1] if pair and space == "sphere" else several),
            _of(*names, many=True),
        )
        number = len(table.numbered(columns))
        if space in ("sphere", "projective") and number == len(columns) == 2:
            columns = _latitude_first(columns, interview, space == "projective")
        given, data["coordinates"] = MANIFOLDS[space].asked(
            columns,
            number,
            lambda question, default, choices=None: interview(
                question, default, _of(*choices) if choices else str
            ),
        )
    rest = [name for name in names if name not in columns]
    data["columns"] = None if landmarks else columns
    data["covariates"] = interview(
        "Covariates, with commas between; none for a mean",
        next(filter(COVARIATE.match, rest), "none"),
        lambda text: [] if text == "none" else _known(_list(text), names),
    )
    data["subject"] = interview(
        f"Column with the subject of each record; or {ONE_EACH}",
        next(filter(SUBJECT.fullmatch, rest), ONE_EACH),
        _of(*(name for name in rest if name not in data["covariates"]), ONE_EACH),
    )
    lacking = [name for name in data["covariates"] if name not in names]
    data["join"] = _joined(lacking, interview) if lacking else None
    manifold = {"name": space, **given}
    found = {"data": data, "manifold": manifold, "units": {}, "sources": {}}
    found["covariates"] = [_covariate(name, found, interview) for name in data["covariates"]]
    return found | _public_inputs(found, interview)


def _told(names):
    """`PointColumns` that names tell of: of an angle where nothing else may be a response."""
    angles = {name: unit for name in names if (unit := told_angle(name))}
    others = [name for name in names if not (COVARIATE.match(name) or SUBJECT.fullmatch(name))]
    if len(angles) == 1 and {*others} <= {*angles}:
        [(name, unit)] = angles.items()
        return PointColumns("sphere", 1, [name], unit)
    return told_columns(names) or told_shares(names)


def _latitude_first(columns, interview, are_axes):
    """The columns of two angles of a direction, that of a latitude first."""
    word, _ = told_pair(columns) or ("latitude_longitude", columns)
    word = interview(f"Kind of the two angles, in degrees: {', '.join(PAIRS)}", word, _of(*PAIRS))
    question = "Are two opposite directions different, as they are not for lines and planes"
    is_axis = word == "strike_dip" or (
        word == "trend_plunge"
        and not are_axes
        and interview(question, "no", _of("yes", "no")) == "no"
    )
    if is_axis:
        raise DataError(
            "lines and planes without a direction are axes, not points of a sphere: answer "
            "projective to the question for the space, and give the poles of planes"
        )
    return columns if word == "latitude_longitude" else columns[::-1]


def _opened(path, interview):
    """The table, how it is read, and how many landmarks its specimens have."""
    landmarks = None
    if issubclass(table_kind(path), LandmarkFile):
        landmarks = interview("Number of landmarks of each specimen", check=_count)
    table = open_table(path, landmarks=landmarks)
    data = {"path": path, "sheet": None, "decimal": "."}
    if len(sheets := getattr(table, "sheets", [])) > 1:
        data["sheet"] = interview("Sheet with the records", sheets[0], _of(*sheets))
        table = open_table(path, reading=TableReading(sheet=data["sheet"]))
    if getattr(table, "has_open_lists", False):
        length = interview("Length of each list in the table", check=_count)
        table = open_table(path, reading=TableReading(length=length))
    if getattr(table, "delimiter", ",") == ";":
        data["decimal"] = interview("Decimal sign", ",", _of(",", "."))
    return table, data, landmarks


def _joined(lacking, interview):
    """A second table that has the covariates which the first lacks."""

    def opened(path):
        found = open_table(path)
        for name in lacking:
            if name not in found.names:
                raise DataError(f"{path} has no column {name}, but {', '.join(found.names)}")
        return found

    table = interview(f"File of the table with {', '.join(lacking)}", check=opened)
    path, names = table.path, table.names
    guess = next(filter(SUBJECT.fullmatch, names), names[0])
    subject = interview("Column of that table with the labels of subjects", guess, _of(*names))
    return {"path": path, "subject": subject}


def _covariate(name, found, interview):
    """Name, range, spread, words and dates of a covariate."""
    given = {"name": name, "spread": "unknown", "words": {}, "dates": None}
    question = f"Are the values of {name} dates, such as 2020-01-31"
    is_dated = re.fullmatch(".*dat(e|um)|dob", name, re.IGNORECASE)
    if is_dated and interview(question, "yes", _of("yes", "no")) == "yes":
        question = f"Earliest and latest {name} that is possible, by public knowledge"
        days = interview(f"{question}, such as 2000-01-01, 2020-12-31", check=_days)
        _ask_source("covariate_range", found["sources"], interview)
        unit = interview("Unit of the time since the earliest date", "years", _of(*UNITS))
        return given | {"range": days, "dates": {"since": days[0], "unit": unit}}
    words = interview(
        f"Categories of {name}: words, the reference first, such as north, south, west; or words "
        f"with numbers, such as F=0, M=1; none if {name} is a number",
        "none",
        _categories,
    )
    if isinstance(words, list):
        # Each is a group, and has no number.
        return given | {"words": words}
    if words:
        limits, is_two = (min(words.values()), max(words.values())), len(words) == 2
    else:
        limits = interview(
            f"Least and greatest {name} that is possible, by public knowledge, such as 50, 90",
            check=_range,
        )
        _ask_source("covariate_range", found["sources"], interview)
        question = f"Does {name} take these two values only"
        is_two = interview(question, "no", _of("no", "yes")) == "yes"
        _ask_unit(name, found, interview)
    if is_two:
        question = f"Source of the knowledge that {name} has two values"
        _ask_source("covariate_spread", found["sources"], interview, question)
    spread = "two groups" if is_two else "unknown"
    return given | {"range": list(limits), "spread": spread, "words": words}


def _ask_unit(name, found, interview):
    unit = interview(f"Unit of {name}", "none")
    if unit != "none":
        found["units"][name] = unit


def _ask_source(key, sources, interview, question="Source of this answer, for readers"):
    """Where a public input comes from; no source is published that nobody typed."""
    source = interview(question, "not stated")
    if source != "not stated":
        sources[key] = source


def _public_inputs(found, interview):
    data, sources = found["data"], found["sources"]
    names = ", ".join(data["columns"] or [])
    space = make_manifold(**found["manifold"])
    unit = f", in {space.length_unit}," if space.length_unit else ""
    given = {"records": 1, "radius": None, "length": None}
    if data["subject"] != ONE_EACH:
        given["records"] = interview("Most records of a subject that count", "1", _count)
    given["subjects"] = interview("Number of subjects, as publicly known", check=_count)
    _ask_source("subjects", sources, interview)
    is_named = type(space) is Euclidean and len(data["columns"]) == space.dim
    for name in data["columns"] if is_named else ():
        _ask_unit(name, found, interview)
    given["centre"] = interview(
        "Centre: a rough response in the middle of all ranges, known without these data, as "
        f"numbers with commas between{f' ({names})' if names else ''}; or anywhere",
        "anywhere",
        lambda text: text if text == "anywhere" else list(map(_number, _list(text))),
    )
    if given["centre"] != "anywhere":
        _ask_source("centre", sources, interview)
        given["radius"] = interview(
            f"Largest distance{unit} of the released response from the centre; none for no limit",
            "none",
            lambda text: None if text == "none" else _above_zero(text),
        )
        if given["radius"]:
            _ask_source("footpoint_radius", sources, interview)
    if given["radius"] and data["covariates"]:
        given["length"] = interview(
            f"Largest change of the response{unit} over the range of a covariate",
            f"{2 * given['radius']:g}",
            _above_zero,
        )
        _ask_source("shooting_vector_length", sources, interview)
    given["scale"] = given["radius"] and interview(
        f"Standard deviation{unit} of responses about their trend, by earlier studies; none if it "
        "is not known",
        "none",
        lambda text: None if text == "none" else _above_zero(text),
    )
    if given["scale"]:
        _ask_source("residual_scale", sources, interview)
    given["description"] = interview("Description of the data, a line for readers", "records")
    given["epsilon"] = interview(
        "Privacy budget epsilon of this release", "1", lambda text: str(parse_budget(text, "it"))
    )
    return given


def _list(text):
    return [each.strip() for each in text.split(",") if each.strip()]


def _number(text):
    if (value := finite_number(text)) is None:
        raise DataError(f"{text or 'nothing'} was given: give a number")
    return value


def _above_zero(text):
    if (value := _number(text)) <= 0.0:
        raise DataError(f"{text} was given: give a number above zero")
    return value


def _count(text):
    if (value := _number(text)) < 1.0 or not value.is_integer():
        raise DataError(f"{text} was given: give a whole number from 1 on")
    return int(value)


def _known(names, header):
    """Names of columns; one that is nearly in the header is a misprint."""
    for name in names:
        near = get_close_matches(name, header, n=1, cutoff=0.8)
        if name not in header and near:
            raise DataError(f"there is no column {name}: did you mean {near[0]}?")
    return names


def _range(text):
    return _pair(text, _number, "the smaller number")


def _days(text):
    return _pair(text, _day, "the earlier date")


def _day(text):
    if not is_day(text):
        raise DataError(f"{text} was given: give a date such as 2000-01-31")
    return text


def _pair(text, check, what):
    values = [check(each) for each in _list(text)]
    if len(values) != 2:
        raise DataError(f"{text or 'nothing'} was given: give two, with a comma between")
    if not values[0] < values[1]:
        raise DataError(f"{text} was given: give {what} first")
    return values


def _of(*choices, many=False):
    """A check that an answer, or each of its parts between commas, is one of some."""

    def check(text):
        given = _list(text) if many else [text]
        if not given or not {*given} <= {*choices}:
            raise DataError(f"{text or 'nothing'} was given: choose from {', '.join(choices)}")
        return given if many else text

    return check


def _categories(text):
    """Numbers by words, or words in the order in which they were given."""
    if text != "none" and "=" not in text:
        words = _list(text)
        if len({*words}) < max(len(words), 2):
            raise DataError(f"{text} was given: give two different words or more, or none")
        return words
    pairs = [] if text == "none" else [part.rpartition("=")[::2] for part in _list(text)]
    found = {word.strip(): number.strip() for word, number in pairs}
    if len(found) == 1 or "" in found:
        raise DataError(f"{text} was given: give two words or more, such as F=0, M=1")
    return {word: _number(number) for word, number in found.items()}
