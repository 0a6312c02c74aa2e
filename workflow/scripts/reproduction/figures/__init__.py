"""Figures: a module for each kind.

``draw(table, params)`` gives the figure and the numbers that it shows. ``TABLE`` names the table it
is drawn from: one of the study's, or a kind of `reproduction.tables` made for the figure alone.
``OF_MECHANISM`` says whether it shows a mechanism and carries what is said of its guarantee.
"""
