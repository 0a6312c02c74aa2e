"""Figures: one module for each kind, with three names.

* ``draw(table, params)`` returns the figure and the numbers that it shows.
* ``TABLE`` is the table it is drawn from: a table of the study, or a kind of `reproduction.tables`
  made for this figure alone.
* ``OF_MECHANISM`` says whether it shows a mechanism, and so carries the note on its data.
"""
