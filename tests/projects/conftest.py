from tests.api.conftest import program as program
