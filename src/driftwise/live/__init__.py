"""Guarded live operation: concurrent control, rollouts that stop by themselves, approval.

Read in this order: `plan`, what a user decides; `effect`, what randomised readings say about a candidate; `betting`,
the same where nothing may be asymptotic, and guardrails; `alarm`, for a candidate that turns bad later; `rollout`, the
fold over the log that decides; `candidates`, when a setting is worth a trial.
"""

from __future__ import annotations

from driftwise.live.plan import Live

__all__ = ["Live"]
