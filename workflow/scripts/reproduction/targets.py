"""A target that is not there: one sentence with the nearest that is."""

import re
import sys
from difflib import get_close_matches
from functools import wraps

from snakemake.exceptions import MissingRuleException


def name_unknown(workflow):
    """Have a workflow end with one sentence where a target is neither a rule nor a result.

    Parameters
    ----------
    workflow : snakemake.workflow.Workflow
    """
    execute = workflow.execute

    @wraps(execute)
    def named(**others):
        try:
            return execute(**others)
        except MissingRuleException as problem:
            found = re.search(r"No rule to produce (.*) \(if", str(problem))
            if found is None:
                raise
            sys.exit(_sentence(found[1], workflow.rules))

    workflow.execute = named


def _sentence(target, rules):
    fixed = [rule for rule in rules if not rule.has_wildcards()]
    known = [*(rule.name for rule in fixed), *(str(path) for rule in fixed for path in rule.output)]
    near = get_close_matches(target, known, n=1)
    remedy = f"did you mean {near[0]}?" if near else "./run snakemake --list names the targets"
    return f"Error: there is no target or result {target}: {remedy}"
