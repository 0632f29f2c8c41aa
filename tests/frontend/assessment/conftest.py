from tests.assessment.conftest import anns, run, study

__all__ = ["anns", "run", "study"]
