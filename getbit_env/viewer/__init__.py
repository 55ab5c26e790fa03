"""The viewer: games as frames (`film`), and pages of HTML in which they can be watched (`page`)."""

from getbit_env.viewer.frames import Recorder, film, recorder
from getbit_env.viewer.html import page

__all__ = ["Recorder", "film", "page", "recorder"]
