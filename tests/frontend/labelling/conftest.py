from tests.annotation.conftest import anna as anna
from tests.annotation.conftest import bela as bela
from tests.annotation.conftest import quality as quality
from tests.annotation.conftest import tina as tina
