"""Figures: one module for each kind, with ``draw(*tables, params)``.

It returns the figure and the numbers that it shows, from the tables that the kind's section in
`reproduction.configuration` names.  Beside it may stand ``notes(numbers)``, lines below the figure,
and ``OF_MECHANISM = True``, where the guarantee of the mechanism that is shown is one of them.
`told` in workflow/rules/inputs.smk says what ``params`` has: the figure's section, its group and so
on.
"""
