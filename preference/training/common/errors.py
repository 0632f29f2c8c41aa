"""The error that a training run reports to a person."""


class TrainingError(Exception):
    """A run cannot start or continue.

    cause, remedy: whole, translated sentences for a person at a terminal or on a page; remedy may be empty.
    """

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(cause, remedy)
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.cause} {self.remedy}".strip()
