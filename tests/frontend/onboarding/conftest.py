from tests.annotation.conftest import anna as anna
from tests.annotation.conftest import bela as bela
from tests.annotation.conftest import tina as tina
from tests.annotation.onboarding.conftest import quality as quality
from tests.annotation.onboarding.conftest import tested as tested
