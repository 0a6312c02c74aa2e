"""Errors of median regression over the number of records."""

from reproduction.figures.kng_linear import OF_MECHANISM, draw

__all__ = ["OF_MECHANISM", "draw"]
