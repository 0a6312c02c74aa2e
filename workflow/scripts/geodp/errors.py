"""The one error a user's data can cause; its message is one sentence for that user."""


class DataError(ValueError):
    """Data that cannot be used: what is wrong, where, and what to do.

    Parameters
    ----------
    message : str
    argument : str, optional
        The argument to change, where that can help: whoever filled it from somewhere else, such as
        a configuration, can add its name there.
    """

    def __init__(self, message, argument=None):
        super().__init__(message)
        self.argument = argument
