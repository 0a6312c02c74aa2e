"""The one error a user's data can cause; its message is one sentence for that user."""


class DataError(ValueError):
    """Data that cannot be used: what is wrong, where, and what to do."""
