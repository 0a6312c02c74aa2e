"""The command `geodp`: plan, check and make releases, and keep their ledger."""

import argparse
import sys

from geodp.errors import DataError

EXAMPLE = "FILE holds the settings of a release; config/release.example.yaml explains all its keys."


def main(arguments=None):
    """Run a command; returns the exit status.

    Parameters
    ----------
    arguments : list of str, optional
        By default those of the command line.
    """
    given = _parser().parse_args(arguments)
    try:
        return given.run(given) or 0
    except DataError as problem:
        print(f"geodp: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as problem:
        # A release that has begun says what it spent.
        print(f"geodp: {str(problem) or 'interrupted: nothing was spent'}", file=sys.stderr)
        return 130
    except BrokenPipeError:
        return 0


def _parser():
    parser = argparse.ArgumentParser(
        prog="geodp", description="Regression on manifolds, released with differential privacy."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name, run, words, within=commands):
        added = within.add_parser(name, help=words, description=words, epilog=EXAMPLE)
        added.set_defaults(run=run)
        return added

    for name, run, words in (
        (
            "plan",
            _plan,
            "Predict the error of a release; reads no data and spends nothing. Its status is 1 if "
            "the release would be noise and refused.",
        ),
        (
            "check",
            _check,
            "Look for faults of the data, for the holder's eyes alone; spends and writes nothing.",
        ),
        ("release", _release, "Make the release, once, and spend its budget."),
    ):
        command(name, run, words).add_argument("settings", metavar="FILE")
    ledger = commands.add_parser("ledger", help="Keep the account of a privacy budget.")
    actions = ledger.add_subparsers(required=True, metavar="ACTION")
    create = command("create", _create, "Make a ledger, once for all releases.", actions)
    create.add_argument("path", metavar="PATH")
    create.add_argument(
        "--allowed", required=True, help='total of all releases, as decimal text such as "3"'
    )
    create.add_argument("--unit", choices=("epsilon", "rho"), default="epsilon")
    show = command("show", _show, "Show all releases and what is left.", actions)
    show.add_argument("path", metavar="PATH")
    return parser


def _plan(given):
    from geodp.release.publish import plan_of, verdict
    from geodp.release.settings import read_settings

    settings = read_settings(given.settings)
    plan = plan_of(settings)
    assumptions = plan.assumptions
    lines = [
        f"{settings.name}: {assumptions.what} on {assumptions.manifold.name} "
        f"({assumptions.manifold.dim} dimensions) from {assumptions.subjects} subjects",
        f"with {plan.budget.words()} ({assumptions.neighbours}).",
        "",
        verdict(plan),
        f"Without privacy it would be {plan.error_without_privacy:.3g}.",
        "",
        "It would be drawn by:",
        *(f"  {stage.describe()}" for stage in plan.stages),
        "",
        _account(settings, plan),
        "No data were read and nothing was spent.",
    ]
    print("\n".join(lines))
    return int(plan.is_noise and not settings.allow_noise)


def _account(settings, plan):
    """What the ledger would have left, in a sentence; or why that cannot be said."""
    from geodp.release.ledger import Ledger
    from geodp.release.publish import drawn

    try:
        ledger, key = Ledger.open(settings.ledger), settings.key(plan)
        if drawn(ledger, key) is not None:
            return f"{ledger.path} has paid for a draw of it, whose folder the release makes."
        return ledger.after(settings.privacy_budget, key)
    except DataError as problem:
        return f"Of the ledger nothing can be said: {problem}."


def _check(given):
    from geodp.release.holder import spread_otherwise, suspicious_inputs
    from geodp.release.inspection import inspect_inputs
    from geodp.release.publish import plan_of
    from geodp.release.reading import read_data, refuse_missing
    from geodp.release.settings import read_settings
    from geodp.release.subjects import subject_records

    settings = read_settings(given.settings)
    plan = plan_of(settings)
    assumptions = plan.assumptions
    refuse_missing(settings)
    print("For the holder of the data alone: mend the data, and change no public input by this.")
    covariates, points, subjects = read_data(settings)
    # A release would fail here, after its budget was spent: no other finding may hide it.
    records = subject_records(assumptions, covariates, points, subjects)
    print(inspect_inputs(assumptions, covariates, points).words())
    for warning in (
        *suspicious_inputs(assumptions, covariates, points),
        *spread_otherwise(plan, records),
    ):
        print(f"warning: {warning}")
    print("Nothing was spent.")


def _release(given):
    from geodp.release.publish import publish
    from geodp.release.settings import read_settings

    settings = read_settings(given.settings)

    def tell_holder(words):
        print(f"for the holder alone: {words}", file=sys.stderr)

    folder, is_new = publish(settings, print, tell_holder)
    if is_new:
        spent = settings.privacy_budget
        print(f"Released: {folder}/index.html ({spent.amount} {spent.unit} of {settings.ledger})")
    else:
        print(f"Released before: {folder}/index.html (nothing was spent)")


def _create(given):
    from geodp.release.ledger import Ledger

    ledger = Ledger.create(given.path, given.allowed, given.unit)
    print(f"{ledger.path} allows {ledger.allowed:f} {ledger.unit} in all. Keep it with the data.")


def _show(given):
    from geodp.release.ledger import Ledger

    print(Ledger.open(given.path).words())


if __name__ == "__main__":
    sys.exit(main())
