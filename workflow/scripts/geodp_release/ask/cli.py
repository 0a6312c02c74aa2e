"""The command `geodp`: plan, check and make releases, and keep their ledger."""

import argparse
import json
import os
import sys
import threading
from functools import cache
from pathlib import Path

import yaml

from geodp.errors import DataError


def main(arguments=None):
    """Run a command, by default with the arguments of the command line; returns the exit status."""
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
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


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


@cache
def _parser():
    words = yaml.safe_load((Path(__file__).parent / "help.yaml").read_text(encoding="utf-8"))
    shape, settings = argparse.RawDescriptionHelpFormatter, words["settings"]
    parser = _Parser(
        prog="geodp", description=words["about"], epilog=settings, formatter_class=shape
    )
    runs = {"init": _init, "plan": _plan, "check": _check, "release": _release}
    runs |= {"registry": _registry, "create": _create, "show": _show}

    def add(parser, kind, commands):
        added = parser.add_subparsers(required=True, metavar=kind.upper(), title=f"{kind}s")
        for name, says in commands.items():
            about, arguments = says["about"], says.get("arguments", {})
            epilog = settings if "settings" in arguments else None
            short = about.partition(". ")[0]
            command = added.add_parser(name, help=short, description=about, epilog=epilog)
            for argument, options in arguments.items():
                command.add_argument(argument, **options)
            if name in runs:
                command.set_defaults(run=runs[name])
            else:
                add(command, "action", says["actions"])

    add(parser, "command", words["commands"])
    return parser


def _init(given):
    from geodp_release.ask.interview import Interview, new_settings, stem_of

    path = given.output or f"{stem_of(given.table)}.yaml"
    new_settings(given.table, path, Interview(input, _say, sys.stdin.isatty()))
    _say(f"Written: {path}. Look through it, then: geodp plan {path}, geodp release {path}")


def _plan(given):
    from geodp_release.ask.planning import plan_of, predicted, verdict
    from geodp_release.ask.settings import read_settings
    from geodp_release.plan.sample_size import plans_about

    settings = read_settings(given.settings)
    plan = plan_of(settings, _say)
    if given.table:
        _say("Plans of other subjects and budgets may take minutes, without reading data.")
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
    from geodp_release.show.templates import render

    return render(name, lambda value: printable(str(value)), **values).splitlines()


def _usual(settings, plan):
    """What releases of a plan usually come to, in lines."""
    radii, slopes = plan.usual_bands(settings.covariates(), 0.95)
    found = {"errors": plan.usual_errors(), "radii": radii, "slopes": slopes}
    return _rendered("usual.txt.j2", settings=settings, plan=plan, **found)


def _account(settings, plan):
    """What the ledger would have left, in a sentence; or why that cannot be said."""
    from geodp_release.ask.publish import refuse_other
    from geodp_release.promise.ledger import Ledger

    if not Path(settings.ledger).exists():
        return f"The ledger {settings.ledger} is not there: geodp release makes it on a terminal."
    try:
        ledger, key = Ledger.open(settings.ledger), settings.key(plan)
        entry = ledger.paid(key)
        if entry is not None and not entry.finished:
            return f"{ledger.path} has paid for a draw: geodp release makes its folder, at no cost."
        refuse_other(settings, ledger, key)
        return ledger.after(settings.privacy_budget, key)
    except DataError as problem:
        return f"geodp release would refuse it: {problem}."


def _check(given):
    from geodp_release.ask.planning import plan_of
    from geodp_release.ask.settings import read_settings

    settings = read_settings(given.settings)
    passed, noted = _checked(settings, plan_of(settings, _say, is_drawn=False))
    _say(*noted, "Nothing was spent.")
    return int(not passed)


def _checked(settings, plan):
    """Check the data, say what is found and note it; whether it says yes, and lines on the note."""
    from geodp_release.ask.checking import check_data
    from geodp_release.ask.publish import fingerprint_of, since
    from geodp_release.ask.release_records import refuse_missing
    from geodp_release.promise.ledger import Ledger

    refuse_missing(settings, is_shown=True)
    _say("For the holder of the data alone: mend the data, and change no public input by this.")
    ledger, noted = None, []
    try:
        # Before the records are read: what is noted must not be of a later file.
        ledger = Ledger.open(settings.ledger)
        fingerprint = fingerprint_of(settings, ledger)
        noted.append(since(settings, ledger, settings.key(plan)))
    except DataError as problem:
        ledger, noted = None, [f"The ledger cannot note it: {problem}."]
    found = check_data(settings, plan)
    answer = "The check says no: do not release before the data are mended."
    _say(*found.words(), "The check says yes." if found.passed else answer)
    if ledger is None:
        return found.passed, noted
    try:
        if fingerprint is None:
            noted = ["Simulated data are new at every run: nothing was noted."]
        elif fingerprint_of(settings, ledger) != fingerprint:
            noted.append(
                "Nothing was noted, since the data changed during the check: run it again."
            )
        else:
            for checked in settings.checked:
                ledger.note_check(checked, fingerprint, found.passed)
            noted.append(f"Noted in {ledger.path}.")
    except DataError as problem:
        noted.append(f"The ledger cannot note it: {problem}.")
    return found.passed, noted


def _release(given):
    from geodp_release.ask.planning import plan_of, verdict
    from geodp_release.ask.publish import publish
    from geodp_release.ask.settings import read_settings

    settings = read_settings(given.settings)
    plan, told = plan_of(settings, _say), []
    if not given.yes and sys.stdin.isatty() and sys.stdout.isatty():
        told = [verdict(settings, plan)]
        try:
            is_agreed = _agreed(settings, plan, given.despite_check)
        except EOFError:
            is_agreed = False
        if not is_agreed:
            _say("Not released. Nothing was spent.")
            return 1
    folder, is_new = publish(
        settings,
        lambda words: words in told or _say(words),
        plan=plan,
        despite_check=given.despite_check,
        for_holder=given.for_holder,
    )
    budget = settings.privacy_budget
    spent = f"{budget.amount} {budget.unit} of {settings.ledger}" if is_new else "nothing was spent"
    _say(f"Released{'' if is_new else ' before'}: {folder}/index.html ({spent})")
    if given.for_holder is not None:
        _say(f"For the holder of the data alone: {given.for_holder}")
    return 0


def _agreed(settings, plan, despite_check):
    """Make the ledger, check and ask on a terminal; whether to release."""
    from geodp_release.ask.planning import verdict
    from geodp_release.promise.ledger import Ledger

    budget, path = settings.privacy_budget, settings.ledger
    _say(verdict(settings, plan))
    if plan.is_noise and not settings.allow_noise:
        # Refused by the release, with what would do.
        return True
    _say(*_usual(settings, plan), "")
    if not Path(path).exists():
        # A mistyped path would be a second budget.
        others = ", ".join(map(str, Path(path).parent.glob("*.ledger"))) or "no other"
        _say(f"There is no ledger {Path(path).absolute()}, and in its folder {others}.")
        _say("One ledger is for all releases from the data: correct the key ledger if it is there.")
        total = input(f"Total {budget.unit} of all releases from these data; empty to stop: ")
        if not total.strip():
            return False
        Ledger.create(path, total.strip(), budget.unit)
    ledger = Ledger.open(path)
    if ledger.paid(settings.key(plan)) is not None:
        return True
    passed, _ = _checked(settings, plan)
    if not passed and not despite_check:
        _say("To release all the same: geodp release --despite-check.")
        return False
    price = f"It spends {budget.amount} of {ledger.left:f} {budget.unit} left in {path}"
    return input(f"{price}. Release now (yes or no) [no]: ").strip().lower() in ("y", "yes")


def _registry(given):
    from geodp_release.show.release import Release
    from geodp_release.show.templates import render

    release, text = Release.load(given.path), Path(given.path).read_text(encoding="utf-8")
    # Strings of JSON are strings of YAML; elsewhere a line break would end a part of the entry.
    filters = {"quoted": json.dumps, "oneline": lambda text: " ".join(text.split())}
    values = {"release": release, "plan": release.plan, "version": json.loads(text)["geodp"]}
    _say(*render("registry.yaml.j2", None, filters, **values).splitlines())


def _create(given):
    from geodp_release.promise.ledger import Ledger

    ledger = Ledger.create(given.path, given.allowed, given.unit)
    _say(f"{ledger.path} allows {ledger.allowed:f} {ledger.unit} in all. Keep it with the data.")


def _show(given):
    from geodp_release.promise.ledger import Ledger

    _say(*Ledger.open(given.path).words().split("\n"))


if __name__ == "__main__":
    sys.exit(main())
