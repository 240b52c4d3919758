"""What requests contain. Types are strict: a text is no number, and nothing unknown is ignored.

What depends on the study, as the range of a parameter, is checked by the study itself.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

WHOLE = BeforeValidator(lambda n: int(n) if isinstance(n, float) and n.is_integer() else n)  # in JSON 3.0 is 3
Whole = Annotated[int, WHOLE]
Scalar = bool | int | float | str | None
Values = Annotated[
    dict[str, Scalar],
    Field(max_length=20_000, description="Values by the names of parameters.", examples=[{"price": 9.5}]),
]
LATEST = 1e20  # of a time: nanoseconds since 1970 do not reach it for 3,000 years
At = Annotated[
    float | None,
    Field(ge=-LATEST, le=LATEST, description="The time on your own clock. By default the number of the step."),
]
Far = Annotated[bool, Field(description="Confirms a time that is far from all others of the study.")]
Name = Annotated[str, Field(min_length=1, max_length=200, description="1 to 200 printable characters.")]
Key = Annotated[
    str | None,
    Field(min_length=1, max_length=200, description="A call that is repeated with the same key changes nothing more."),
]
Context = Annotated[Values | None, Field(description="The present values of the context, if the study has one.")]
Which = Annotated[
    Whole | str, Field(description="The number of an observation, or the id of its suggestion.", examples=[12])
]
Text = Annotated[str, Field(max_length=500)]


class Body(BaseModel):
    """The base of all requests."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, ser_json_inf_nan="null")


class NewStudy(Body):
    """A study to be made. Either `description`, as `GET /v1/studies/NAME` has it, or `space` and what you like."""

    name: Name
    description: Annotated[
        dict[str, Any] | None, Field(description="The whole description of a study, as another one has it.")
    ] = None
    space: Annotated[
        dict[str, Any] | None,
        Field(
            description="Parameters by name, or candidates.",
            examples=[
                {"price": {"type": "Float", "low": 5, "high": 20}, "mode": {"type": "Choice", "values": ["a", "b"]}}
            ],
        ),
    ] = None
    policy: Annotated[str | None, Field(description="`driftwise policies` lists them; `auto` by default.")] = None
    options: Annotated[dict[str, Any] | None, Field(description="Options of the policy.")] = None
    direction: str | None = None
    seed: Whole | None = None
    patience: Whole | None = None
    where: list[str] | None = None
    limits: Annotated[
        dict[str, dict[str, float | None]] | None,
        Field(description="Limits on measures.", examples=[{"p99_ms": {"high": 200}}]),
    ] = None
    safe: bool | None = None
    start: Values | None = None
    delta: float | None = None
    context: Annotated[dict[str, Any] | None, Field(description="Parameters that are given and not chosen.")] = None


class NewName(Body):
    """Another name."""

    to: Name


class NewFork(Body):
    """A study that begins with the observations of another, and differs from it in what is given."""

    to: Name
    space: dict[str, Any] | None = None
    policy: str | None = None
    options: dict[str, Any] | None = None
    settings: Annotated[
        dict[str, Any] | None, Field(description="Any of direction, seed, patience, where, limits, safe, start, delta.")
    ] = None


class AskBody(Body):
    """What to try next."""

    key: Key = None
    at: At = None
    far: Far = False
    n: Annotated[int, Field(ge=1, le=1000, description="So many suggestions, which spread out."), WHOLE] | None = None
    context: Context = None
    fixed: Annotated[Values | None, Field(description="Parameters that are not to be chosen.")] = None


class OutcomeBody(Body):
    """What came of a setting: a reward, or that it failed."""

    reward: float | None = None
    failed: bool = False
    std: Annotated[float | None, Field(description="The standard deviation of the noise, if you know it.")] = None
    repeats: Annotated[int, Field(ge=1, description="The reward is the mean of so many readings."), WHOLE] = 1
    measures: Annotated[
        dict[str, float] | None, Field(description="What else was measured.", examples=[{"p99_ms": 180.0}])
    ] = None


class TellBody(OutcomeBody):
    """The outcome of a suggestion."""

    suggestion: Annotated[str, Field(max_length=200, description="Its id.")]
    key: Key = None
    at: At = None
    far: Far = False


class ObserveBody(OutcomeBody):
    """The outcome of a setting that was not suggested."""

    params: Values
    context: Context = None
    key: Key = None
    at: At = None
    far: Far = False


class AbandonBody(Body):
    """A suggestion that will not be tried."""

    suggestion: Annotated[str, Field(max_length=200)]


class RetractBody(Body):
    """An observation that should not count."""

    which: Which
    who: Text = ""
    why: Text = ""


class CorrectBody(OutcomeBody):
    """What an observation should have been."""

    which: Which
    who: Text = ""
    why: Text = ""


class RecommendBody(Body):
    """When, and in which context."""

    at: At = None
    context: Context = None
    fixed: Values | None = None


class PredictBody(Body):
    """A setting."""

    params: Values
    at: At = None
    context: Context = None


class PredictManyBody(Body):
    """Settings."""

    settings: Annotated[list[Values], Field(min_length=1, max_length=1000)]
    at: At = None
    context: Context = None
