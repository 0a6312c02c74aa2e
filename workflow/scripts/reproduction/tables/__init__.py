"""Tables of a study: a module for each kind, with ``tabulate(job)`` that gives a data frame.

The kinds that a figure has made for itself also have ``needs(study, figure, studies)``: what their
job reads and depends on.
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Needs:
    """What a figure's own table is made from.

    Attributes
    ----------
    groups : tuple of (study, group)
    files : tuple of str
        Which files of each group: ``data.npz``, ``fit.json``, ``sensitivity.npz``.
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
