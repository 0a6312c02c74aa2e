"""Tables of a study: one module for each kind, with ``tabulate(job)``, which returns a data frame.

Kinds that are made for one figure alone also have ``needs(study, figure, studies)``, which returns
the `Needs` of their job.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Needs:
    """Inputs and parameters of the job that makes a figure's own table."""

    groups: tuple = ()  # Pairs of a study and a group.
    files: tuple = ()  # Of each group: ``data.npz``, ``fit.json``, ``sensitivity.npz``.
    cells: tuple = ()  # (group, cell, sampler), of the figure's study.
    modules: tuple = ()  # Those that the job loads by name.
    params: dict = field(default_factory=dict)
