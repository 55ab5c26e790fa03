"""The report: what benchmarks, tournaments and training runs found, in one HTML file.

`sources` reads files, `profiles` plays games, `leaks` judges exactly, `figures` computes what `page` and `charts` show.
"""

from getbit_env.report.page import as_page
from getbit_env.report.profiles import Profile, profile_of
from getbit_env.report.sources import Sources, read_sources

__all__ = ["Profile", "Sources", "as_page", "profile_of", "read_sources"]
