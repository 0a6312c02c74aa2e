"""The command `geodp`: plan, check and make releases, and keep their ledger."""

import argparse
import os
import sys
import threading
from pathlib import Path
from time import perf_counter

from geodp.errors import DataError

ABOUT = """\
Fits a mean or a regression to records on a manifold (shapes, directions, covariance matrices,
vectors) and publishes it with differential privacy: noise hides what any one person contributed.
How much noise is set by a privacy budget, which a ledger counts over all releases from the data.

  geodp init mine.csv        settings of a release, mine.yaml, by questions
  geodp plan mine.yaml       how good the release would be; reads no data
  geodp release mine.yaml    check, price, and the release: a folder to publish

Without a terminal, as in scripts, the parts are commands of their own:

  geodp ledger create mine.ledger --allowed 3   once for each data set, its whole budget
  geodp check mine.yaml      what is wrong with the data; for you alone
"""

EXAMPLE = """\
FILE holds the settings of a release (YAML): its data, what is publicly known of them, its
budget, ledger and folder. config/release.example.yaml explains all keys and runs as it is.
"""

COMMANDS = {
    "init": (
        "Write the settings of a release from a table, by questions. Reads the header of the table "
        "alone and guesses by its names; answers are what is publicly known. Give answers a line "
        "each on the standard input to do without a terminal."
    ),
    "plan": (
        "Predict the error of a release, from the settings alone. Reads no data and spends "
        "nothing. Exit status: 0; 1 if the release would be mostly noise, so that it would be "
        "refused; 2 if the settings cannot be used."
    ),
    "check": (
        "Look for faults of the data before they are released: cells that are no numbers, records "
        "that are no points of the space, another number of subjects than the settings say. What "
        "it prints tells of single records, so it is for the holder of the data alone: keep it "
        "out of shared logs, mend the data by it, and change no public input by it. Spends "
        "nothing; its answer is noted in the ledger, and `geodp release` refuses a file of which "
        "the last check said no. Exit status: 0 for yes, 1 for no, 2 if nothing could be checked."
    ),
    "release": (
        "Make the release once and spend its budget. On a terminal it says what the release would "
        "be worth, makes the ledger if there is none, checks the data, and asks once before it "
        "spends; what that prints is for the holder of the data alone, but for the folder. With "
        "--yes, or without a terminal, it does not check, and prints nothing that depends on the "
        "records. The same command again returns the same release and spends nothing; it also "
        "finishes one that was interrupted after its draw. Exit status: 0 if the release is "
        "there; 2 if not, and the message says whether budget was spent; 130 if interrupted."
    ),
    "registry": (
        "Print what a release says of itself as an entry for OpenDP's registry of deployments, in "
        "YAML. Where only the holder of the data knows, it says so. Reads the release alone."
    ),
    "ledger": (
        "Keep the account of a privacy budget: one file for each data set, which stays with its "
        "holder. Every release reserves its part there before it is drawn."
    ),
    "create": (
        "Make a ledger, once, before the first release from the data. Its total cannot be changed."
    ),
    "show": "Show all releases, what they spent and what is left.",
}


def main(arguments=None):
    """Run a command; returns the exit status.

    Parameters
    ----------
    arguments : list of str, optional
        By default those of the command line.
    """
    given = _parser().parse_args(arguments)
    if arguments is None and given.run is _release:
        _hide_tracebacks()
    try:
        return given.run(given) or 0
    except DataError as problem:
        _say(f"geodp: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as problem:
        # A release that has begun says what it spent.
        _say(f"geodp: {str(problem) or 'interrupted: nothing was spent'}", file=sys.stderr)
        return 130


def printable(text):
    """A text without characters that a terminal obeys, such as line breaks; they are escaped."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )


def _say(*lines, file=None):
    """Print lines, to which files and settings may have contributed any characters."""
    file = sys.stdout if file is None else file
    encoding = getattr(file, "encoding", None) or "utf-8"
    for line in lines:
        shown = printable(line).encode(encoding, "backslashreplace").decode(encoding)
        try:
            print(shown, file=file, flush=True)
        except BrokenPipeError:
            # Nobody reads on, as below `head`; what is done is done all the same.
            os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())


def _hide_tracebacks():
    """Print no traceback for the rest of the process: its exceptions may quote records."""

    def hide(kind, *_):
        name = getattr(kind, "exc_type", kind).__name__
        _say(f"geodp: {name}: `geodp ledger show` tells what was spent", file=sys.stderr)

    sys.excepthook = hide
    sys.unraisablehook = lambda _: None
    threading.excepthook = lambda _: None


class _Parser(argparse.ArgumentParser):
    """Parser whose errors are printable."""

    def error(self, message):
        super().error(printable(message))


def _parser():
    shape = argparse.RawDescriptionHelpFormatter
    parser = _Parser(prog="geodp", description=ABOUT, epilog=EXAMPLE, formatter_class=shape)
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")

    def command(name, run, within=commands, epilog=EXAMPLE):
        words = COMMANDS[name]
        added = within.add_parser(
            name, help=words.partition(". ")[0], description=words, epilog=epilog
        )
        added.set_defaults(run=run)
        return added

    init = command("init", _init, epilog=None)
    init.add_argument("table", metavar="TABLE", help="CSV, .xlsx, .parquet, .npz, .mat, .tps, ...")
    init.add_argument("--output", metavar="FILE", help="by default TABLE with the ending .yaml")
    plan = command("plan", _plan)
    plan.add_argument("settings", metavar="FILE")
    words = "a table instead, of other numbers of subjects and other budgets"
    plan.add_argument("--table", action="store_true", help=words)
    command("check", _check).add_argument("settings", metavar="FILE")
    release = command("release", _release)
    release.add_argument("settings", metavar="FILE")
    release.add_argument(
        "--for-holder",
        metavar="PATH",
        help="a new file for what tells of records (which did not count, why the data cannot be "
        "used, whether they changed since their release); only its owner can read it, and without "
        "this option none of it is computed",
    )
    release.add_argument(
        "--despite-check",
        action="store_true",
        help="release even if the last `geodp check` of the file said no",
    )
    release.add_argument(
        "--yes", action="store_true", help="ask nothing and check nothing: release at once"
    )
    registry = command("registry", _registry, epilog=None)
    registry.add_argument("path", metavar="RELEASE", help="the file release.json of a release")
    actions = command("ledger", None, epilog=None).add_subparsers(
        required=True, metavar="ACTION", title="actions"
    )
    create = command("create", _create, actions, None)
    create.add_argument("path", metavar="PATH", help="a new file; keep it with the data")
    create.add_argument(
        "--allowed",
        required=True,
        metavar="TOTAL",
        help='budget of all releases together, as decimal text such as "3"',
    )
    create.add_argument(
        "--unit",
        choices=("epsilon", "rho"),
        default="epsilon",
        help="epsilon (the default): pure differential privacy; rho: zero-concentrated",
    )
    command("show", _show, actions, None).add_argument("path", metavar="PATH")
    return parser


def _init(given):
    from geodp_release.interview import Interview, new_settings

    path = given.output or str(Path(given.table).with_suffix(".yaml"))
    new_settings(given.table, path, Interview(input, _say, sys.stdin.isatty()))
    _say(f"Written: {path}. Look through it, then: geodp plan {path}, geodp release {path}")


def _plan(given):
    from geodp_release.needed import BUDGETS, SUBJECTS, plans_about
    from geodp_release.publish import plan_of, predicted, verdict
    from geodp_release.settings import read_settings

    started = perf_counter()
    settings = read_settings(given.settings)
    plan = plan_of(settings)
    if given.table:
        turns = -(-len(SUBJECTS) * len(BUDGETS) // (os.cpu_count() or 1))
        _say(f"Plans in about {turns * (perf_counter() - started):.0f} s, without reading data.")
        plans = plans_about(plan.assumptions, plan.budget)
        errors = [predicted(settings, each) for each in plans]
        _say(*_rendered("plans.txt.j2", plans=plans, predicted=errors))
    else:
        said = {"verdict": verdict(settings, plan), "account": _account(settings, plan)}
        said["usual"] = _usual(settings, plan)
        _say(*_rendered("plan.txt.j2", settings=settings, plan=plan, **said))
    return int(plan.is_noise and not settings.allow_noise)


def _rendered(name, **values):
    """Lines of a template, in which a line break of the settings is none."""
    from geodp_release.templates import render

    return render(name, lambda value: printable(str(value)), **values).splitlines()


def _usual(settings, plan):
    """What releases of a plan usually come to, in lines."""
    radii, slopes = plan.usual_bands(settings.covariates, 0.95)
    found = {"errors": plan.usual_errors(), "radii": radii, "slopes": slopes}
    return _rendered("usual.txt.j2", settings=settings, plan=plan, **found)


def _account(settings, plan):
    """What the ledger would have left, in a sentence; or why that cannot be said."""
    from geodp_release.ledger import Ledger
    from geodp_release.publish import drawn, refuse_other

    if not Path(settings.ledger).exists():
        return f"The ledger {settings.ledger} is not there: the release on a terminal makes it."
    try:
        ledger, key = Ledger.open(settings.ledger), settings.key(plan)
        if drawn(ledger, key) is not None:
            return f"{ledger.path} has paid for a draw of it, whose folder the release makes."
        after = ledger.after(settings.privacy_budget, key)
    except DataError as problem:
        return f"Of the ledger nothing can be said: {problem}."
    try:
        refuse_other(settings, ledger, key)
    except DataError as problem:
        return f"It would be refused: {problem}."
    return after


def _check(given):
    from geodp_release.publish import plan_of
    from geodp_release.settings import read_settings

    settings = read_settings(given.settings)
    return 0 if _checked(settings, plan_of(settings)) else 1


def _checked(settings, plan):
    """Check the data, say what is found and note it in the ledger; whether the check says yes."""
    from geodp_release.checking import check_data
    from geodp_release.reading import refuse_missing

    refuse_missing(settings, is_shown=True)
    _say("For the holder of the data alone: mend the data, and change no public input by this.")
    # Before the records are read: what is noted must not be of a later file.
    note, about_ledger = _notes(settings, plan)
    found = check_data(settings, plan)
    _say(*found.words())
    if found.passed:
        _say("The check says yes.")
    else:
        _say("The check says no: do not release before the data are mended.")
    _say(*about_ledger, note(found.passed), "Nothing was spent.")
    return found.passed


def _notes(settings, plan):
    """A function that notes the answer of a check and says so; and what the ledger says now."""
    from geodp_release.ledger import Ledger
    from geodp_release.publish import fingerprint_of, since

    try:
        ledger = Ledger.open(settings.ledger)
        fingerprint = fingerprint_of(settings, ledger)
        said = [since(settings, ledger, settings.key(plan))]
    except DataError as problem:
        reason = f"The ledger cannot note it: {problem}."
        return lambda passed: reason, []
    if fingerprint is None:
        return lambda passed: "Simulated data are new at every run: nothing was noted.", []

    def note(passed):
        try:
            for checked in settings.checked:
                ledger.note_check(checked, fingerprint, passed)
        except DataError as problem:
            return f"The ledger cannot note it: {problem}."
        return f"Noted in {ledger.path}."

    return note, said


def _release(given):
    from geodp_release.publish import plan_of, publish, verdict
    from geodp_release.settings import read_settings

    settings = read_settings(given.settings)
    plan, told = plan_of(settings), []
    if not given.yes and sys.stdin.isatty() and sys.stdout.isatty():
        told = [verdict(settings, plan)]
        if not _agreed(settings, plan, given.despite_check):
            _say("Not released. Nothing was spent.")
            return 1
    folder, is_new = publish(
        settings,
        lambda words: words in told or _say(words),
        plan=plan,
        despite_check=given.despite_check,
        for_holder=given.for_holder,
    )
    if is_new:
        spent = settings.privacy_budget
        _say(f"Released: {folder}/index.html ({spent.amount} {spent.unit} of {settings.ledger})")
    else:
        _say(f"Released before: {folder}/index.html (nothing was spent)")
    if given.for_holder is not None:
        _say(f"For the holder of the data alone: {given.for_holder}")
    return 0


def _agreed(settings, plan, despite_check):
    """Make the ledger, check and ask on a terminal; whether to release."""
    from geodp_release.ledger import Ledger
    from geodp_release.publish import is_paid, verdict

    budget, path = settings.privacy_budget, settings.ledger
    _say(verdict(settings, plan))
    if plan.is_noise and not settings.allow_noise:
        # Refused by the release, with what would do.
        return True
    _say(*_usual(settings, plan), "")
    if not Path(path).exists():
        question = f"{path} will be the ledger. Total {budget.unit} of all releases from these data"
        total = input(f"{question} [{budget.amount}]: ").strip()
        Ledger.create(path, total or str(budget.amount), budget.unit)
    ledger = Ledger.open(path)
    if is_paid(ledger, settings.key(plan)):
        return True
    if not _checked(settings, plan) and not despite_check:
        _say("To release all the same: geodp release --despite-check.")
        return False
    price = f"It spends {budget.amount} of {ledger.left:f} {budget.unit} left in {path}"
    return input(f"{price}. Release now (yes or no) [no]: ").strip().lower() in ("y", "yes")


def _registry(given):
    from geodp_release.registry import registry_entry

    _say(*registry_entry(given.path).splitlines())


def _create(given):
    from geodp_release.ledger import Ledger

    ledger = Ledger.create(given.path, given.allowed, given.unit)
    _say(f"{ledger.path} allows {ledger.allowed:f} {ledger.unit} in all. Keep it with the data.")


def _show(given):
    from geodp_release.ledger import Ledger

    _say(*Ledger.open(given.path).words().split("\n"))


if __name__ == "__main__":
    sys.exit(main())
