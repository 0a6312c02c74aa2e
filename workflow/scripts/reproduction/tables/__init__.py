"""Tables of a study: one module for each kind, with ``tabulate(job)``, which returns a data frame.

Kinds that are made for one figure alone also have ``needs(study, figure, studies)``, which returns
the `Needs` of their job.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Needs:
    """Inputs and parameters of the job that makes a figure's own table.

    Attributes
    ----------
    groups : tuple of (study, group)
    files : tuple of str
        Files of each group: ``data.npz``, ``fit.json``, ``sensitivity.npz``.
    cells : tuple of (group, cell, sampler)
        Cells of the figure's study.
    modules : tuple of str
        Those that the job loads by name.
    params : dict
        Parameters of the job.
    """

    groups: tuple = ()
    files: tuple = ()
    cells: tuple = ()
    modules: tuple = ()
    params: dict = field(default_factory=dict)
