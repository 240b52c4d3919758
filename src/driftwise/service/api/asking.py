"""Asking and telling: what docs/contract.md makes promises about."""

from __future__ import annotations

from functools import partial
from operator import methodcaller
from typing import Annotated, Any

from fastapi import APIRouter, Request

from driftwise.records import Receipt, Suggestion
from driftwise.service.access import Caller, StudyName, needs
from driftwise.service.api.bodies import AbandonBody, AskBody, CorrectBody, ObserveBody, RetractBody, TellBody
from driftwise.service.api.replies import SuggestedReply
from driftwise.service.api.strict import StrictRoute, often
from driftwise.service.problems import answers
from driftwise.service.service import service_of
from driftwise.study import Study

router = APIRouter(prefix="/studies/{name}", tags=["ask and tell"], route_class=StrictRoute)
Asks = Annotated[Caller, needs("ask")]
Tells = Annotated[Caller, needs("tell")]
Admin = Annotated[Caller, needs("admin")]
FAR = {"far": False}  # times that are far from all others must be confirmed


@router.post("/ask", responses=answers(404, 409))
async def ask(request: Request, name: StudyName, body: AskBody, who: Asks) -> SuggestedReply:
    """The next setting to try, or several. Asked again with the same key, the answer is the same."""
    service = service_of(request)
    given = body.model_dump(exclude_unset=True)
    found = await service.studies.call(name, partial(asked, far=given.pop("far", False), **given))
    service.audit.note(who.id, "ask", name, found[0].id)
    return SuggestedReply(suggestions=found)


def asked(study: Study, *, far: bool, **given: Any) -> list[Suggestion]:
    """What a study answers, if the time is not far from all others or is confirmed."""
    if given.get("at") is not None and not far:
        study.check_time(given["at"])
    found = study.ask(**given)
    return found if isinstance(found, list) else [found]


@router.post("/tell", responses=answers(404, 409))
async def tell(request: Request, name: StudyName, body: TellBody, who: Tells) -> Receipt:
    """Store the outcome of a suggestion, once. The same again changes nothing; a different one is refused."""
    service = service_of(request)
    given = FAR | body.model_dump(exclude_unset=True)
    receipt = await service.studies.store_entry(name, given.pop("suggestion"), **given)
    if receipt.new:
        service.audit.note(who.id, "tell", name, str(receipt.number))
    return receipt


@router.post("/observe", responses=answers(404, 409))
async def observe(request: Request, name: StudyName, body: ObserveBody, who: Tells) -> Receipt:
    """Store the outcome of a setting that was not suggested; with a key once, however often it is sent."""
    service = service_of(request)
    given = FAR | body.model_dump(exclude_unset=True)
    receipt = await service.studies.store_entry(name, given.pop("params"), **given)
    if receipt.new:
        service.audit.note(who.id, "observe", name, str(receipt.number))
    return receipt


@router.post("/abandon", status_code=204, response_model=None, responses=answers(404, 409))
async def abandon(request: Request, name: StudyName, body: AbandonBody, who: Tells) -> None:
    """Declare that a suggestion will not be tried. If its reward comes after all, it counts."""
    service = service_of(request)
    await service.studies.log(name, methodcaller("abandon", body.suggestion))
    service.audit.note(who.id, "abandon", name, body.suggestion)


@router.post("/correct", responses=answers(404))
async def correct(request: Request, name: StudyName, body: CorrectBody, who: Admin) -> Receipt:
    """Replace the outcome of an observation. What was told stays in the log."""
    service = service_of(request)
    given = body.model_dump(exclude_unset=True)
    receipt: Receipt = await service.studies.log(name, methodcaller("correct", given.pop("which"), **given))
    await service.audit.write(who.id, "correct", name, str(receipt.number))
    return receipt


@router.post("/retract", responses=answers(404))
async def retract(request: Request, name: StudyName, body: RetractBody, who: Admin) -> Receipt:
    """Declare that an observation should not count. `correct` brings it back."""
    service = service_of(request)
    given = body.model_dump(exclude_unset=True)
    receipt: Receipt = await service.studies.log(name, methodcaller("retract", given.pop("which"), **given))
    await service.audit.write(who.id, "retract", name, str(receipt.number))
    return receipt


OFTEN = {"tell": often(tell, TellBody, Receipt, "tell"), "observe": often(observe, ObserveBody, Receipt, "tell")}
