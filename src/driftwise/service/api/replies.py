"""What answers contain, for OpenAPI. Records of driftwise that are plain enough stand for themselves."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, Field

from driftwise.log import Counts
from driftwise.records import Suggestion


class StudyNames(BaseModel):
    """A page of names. `next` is where the next page begins; null on the last."""

    studies: list[str]
    next: str | None


class StudyReply(BaseModel):
    """A study: its definition and its counts."""

    name: str
    policy: str
    direction: str
    parameters: list[str]
    context: list[str]
    counts: Counts
    awaited: Annotated[int, Field(description="Suggestions that are pending: without a reward, and not too old.")]
    description: Annotated[dict[str, Any], Field(description="All that defines the study. It never changes.")]


class SuggestedReply(BaseModel):
    """What to try, in the order of the numbers."""

    suggestions: list[Suggestion]


class ManyPredictions(BaseModel):
    """What is expected at each of several settings."""

    mean: list[float]
    std: list[float]


class ToldOutcome(BaseModel):
    """What was told of a setting. The reward is null if it failed."""

    reward: float | None
    std: float | None
    repeats: int
    failed: bool
    measures: dict[str, float]


class CorrectionReply(BaseModel):
    """A correction: what held before and after. Null is a retraction."""

    ordinal: int
    number: int
    before: ToldOutcome | None
    after: ToldOutcome | None
    who: str
    when: str
    why: str


class SessionReply(BaseModel):
    """Who is signed in, and what they may do."""

    name: str
    scopes: list[str]
    project: str | None
    study: str | None
    expires: float | None
    csrf: Annotated[str | None, Field(description="The value of the header X-CSRF-Token that changes need.")] = None


class AuditReply(BaseModel):
    """One change."""

    entry: int
    when: float
    who: str
    action: str
    study: str
    detail: str


class Health(BaseModel):
    """Whether the service works."""

    status: str
