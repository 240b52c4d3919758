"""What a study says: the best setting, what to expect, how the world moves, and what is pending."""

from __future__ import annotations

from operator import methodcaller
from typing import Annotated

from fastapi import APIRouter, Query, Request

from driftwise.auto.changes import NoticedChange
from driftwise.auto.diagnosis import Diagnosis
from driftwise.auto.drift_history import Moment
from driftwise.log import Correction
from driftwise.records import Prediction, Recommendation, Suggestion
from driftwise.service.access import Caller, StudyName, needs
from driftwise.service.api.bodies import LATEST, PredictBody, PredictManyBody, RecommendBody
from driftwise.service.api.replies import CorrectionReply, ManyPredictions
from driftwise.service.api.strict import StrictRoute
from driftwise.service.problems import answers
from driftwise.service.service import service_of
from driftwise.service.wire import told_correction

router = APIRouter(prefix="/studies/{name}", tags=["what a study says"], route_class=StrictRoute)
Reads = Annotated[Caller, needs("read")]
Time = Annotated[
    float | None,
    Query(ge=-LATEST, le=LATEST, allow_inf_nan=False, description="The time on your own clock; now by default."),
]


@router.post("/recommend", responses=answers(404))
async def recommend(request: Request, name: StudyName, body: RecommendBody, who: Reads) -> Recommendation:
    """The best setting now that is known."""
    given = body.model_dump(exclude_unset=True)
    found: Recommendation = await service_of(request).studies.call(name, methodcaller("recommend", **given))
    return found


@router.post("/predict", responses=answers(404))
async def predict(request: Request, name: StudyName, body: PredictBody, who: Reads) -> Prediction:
    """What is expected at a setting: the reward, whether it works, and the measures with limits."""
    given = body.model_dump(exclude_unset=True)
    work = methodcaller("predict", given.pop("params"), **given)
    found: Prediction = await service_of(request).studies.call(name, work)
    return found


@router.post("/predict-many", responses=answers(404))
async def predict_many(request: Request, name: StudyName, body: PredictManyBody, who: Reads) -> ManyPredictions:
    """The expected reward at many settings, for a curve."""
    given = body.model_dump(exclude_unset=True)
    work = methodcaller("predict_many", given.pop("settings"), **given)
    mean, std = await service_of(request).studies.call(name, work)
    return ManyPredictions(mean=mean.tolist(), std=std.tolist())


@router.get("/drift", responses=answers(404))
async def drift(request: Request, name: StudyName, who: Reads, at: Time = None) -> Diagnosis:
    """The rate of drift, the last change point, and which parameters matter. Needs the policy `auto`."""
    found: Diagnosis = await service_of(request).studies.call(name, methodcaller("drift", at))
    return found


@router.get("/drift-history", responses=answers(404))
async def drift_history(
    request: Request, name: StudyName, who: Reads, points: Annotated[int, Query(ge=1, le=1000)] = 40
) -> list[Moment]:
    """What `drift` would have reported at moments of the past. Needs the policy `auto`."""
    found: list[Moment] = await service_of(request).studies.call(name, methodcaller("drift_history", points))
    return found


@router.get("/changes", responses=answers(404))
async def changes(
    request: Request, name: StudyName, who: Reads, since: Annotated[int | None, Query(ge=0, le=2**53)] = None
) -> list[NoticedChange]:
    """The abrupt changes of the world, each once, oldest first. Needs the policy `auto`."""
    found: list[NoticedChange] = await service_of(request).studies.call(name, methodcaller("changes", since))
    return found


@router.get("/pending", responses=answers(404))
async def pending(request: Request, name: StudyName, who: Reads) -> list[Suggestion]:
    """The suggestions that the next ask treats as pending."""
    found: list[Suggestion] = await service_of(request).studies.log(name, methodcaller("pending"))
    return found


@router.get("/corrections", responses=answers(404))
async def corrections(request: Request, name: StudyName, who: Reads) -> list[CorrectionReply]:
    """All corrections and retractions, oldest first."""
    found: list[Correction] = await service_of(request).studies.log(name, methodcaller("corrections"))
    return [CorrectionReply(**told_correction(each)) for each in found]
