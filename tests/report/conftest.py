"""Where this room's tests find their subjects: fakes here, judged runs with the judge's tests."""

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "judge")]
