"""Errors of median regression over the number of records."""

from reproduction.figures.kng_linear import draw

__all__ = ["draw"]
