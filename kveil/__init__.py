"""kveil from Python: files, videos and pictures in, the same without identities out.

```
import kveil

kveil.run_files([Path("holiday.mp4")], Path("safe.mp4"))
with kveil.open_anonymizer(kveil.load_settings(flags={"privacy.k": 10})) as anonymizer:
    for composite in anonymizer.video(frames, rate=30):  # uint8[height, width, 3], BGR
        show(composite.picture.bgr())
    safe = anonymizer.image(photograph).picture.bgr()
```

What goes wrong in a way that its user can mend is a `KveilError`, or, in what was chosen, a
`ConfigError`: one line that says what to do.
"""

from __future__ import annotations

from config.errors import ConfigError
from config.loading import load_settings
from config.settings import Settings
from engines.blending.compositor import Composite, FaceOutcome
from engines.errors import KveilError
from stream.files.file_runs import run_files
from stream.files.frames import FrameAnonymizer, open_anonymizer
from stream.files.report import RunReport

__all__ = [
    "Composite",
    "ConfigError",
    "FaceOutcome",
    "FrameAnonymizer",
    "KveilError",
    "RunReport",
    "Settings",
    "load_settings",
    "open_anonymizer",
    "run_files",
]
