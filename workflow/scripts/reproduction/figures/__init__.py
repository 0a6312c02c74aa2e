"""Figures: one module for each kind, with ``draw(*tables, params)``.

It returns the figure and the numbers that it shows, from the tables that the kind's section in
`reproduction.configuration` names.  Beside it may stand ``notes(numbers)``, lines below the figure.
`told` in workflow/rules/inputs.smk says what ``params`` has: the figure's section, its grids and so
on.
"""
