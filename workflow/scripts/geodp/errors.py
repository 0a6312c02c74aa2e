"""The error of the library for data and arguments that cannot be used."""


class DataError(ValueError):
    """Data or arguments that cannot be used: one sentence with the fault, its place and the remedy.

    Parameters
    ----------
    message : str
    argument : str, optional
        Name of the argument to change.  A caller that took it from a configuration can add the
        key.
    """

    def __init__(self, message, argument=None):
        super().__init__(message)
        self.argument = argument
