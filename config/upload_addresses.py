"""The addresses to which files are sent."""

import re
from typing import Final

IMPORTS: Final = re.compile(r"/(?:api/v1/projects|p)/(?P<slug>[^/]+)/imports/")
