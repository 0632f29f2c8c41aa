"""What a training run tells a person when it cannot go on."""


class TrainingError(Exception):
    """cause and remedy are whole sentences for a person at a terminal."""

    def __init__(self, cause: str, remedy: str = "") -> None:
        super().__init__(cause, remedy)
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.cause} {self.remedy}".strip()
