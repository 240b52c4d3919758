"""Live studies: ask, tell, recommend.

Read the modules in this order.

1. `description`: what defines a study; `given`: what of it the user gave, and what was left to defaults.
2. `inputs`: what a user gives to a call, checked before anything is written.
3. `readings`: the log in the user's words, as a table, and rows that are loaded.
4. `answers`: what a study says about settings: a cautious recommendation, a prediction.
5. `watching`: the abrupt changes of the world.
6. `notebook`: a study as HTML.
7. `opening`: a study that is made or opened again; `ask_tell`: asking, telling and correcting; `study`: `Study`
   itself, which adds what it says.
8. `slices`: the belief along each parameter, for charts and pictures.
"""

from __future__ import annotations

from driftwise.study.description import Description
from driftwise.study.opening import Summary
from driftwise.study.readings import Reading
from driftwise.study.study import Study

__all__ = ["Description", "Reading", "Study", "Summary"]
