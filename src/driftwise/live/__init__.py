"""Guarded live operation: concurrent control, rollouts that stop by themselves, approval.

Read in this order: `effect`, what randomised readings say about a candidate; `betting`, the same where nothing may be
asymptotic, and guardrails; `alarm`, for a candidate that turns bad later.
"""
