from tests.assessment.conftest import anns, run, study, talks

__all__ = ["anns", "run", "study", "talks"]
