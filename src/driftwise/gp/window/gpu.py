"""A⁻¹ of many windows as tensors on a card: in three blocks, and what is still to be added to them."""

from __future__ import annotations

import torch

LAZY = 2  # steps from one writing of A⁻¹ to the next, by measurement


def blocks(inverse: torch.Tensor, half: int) -> torch.Tensor:
    """[[A, Bᵀ], [B, C]], (…, w, w), with zeros around, as A, B and C: (…, 3, H, H)."""
    pad = 2 * half - inverse.shape[-1]
    whole = torch.nn.functional.pad(inverse, (0, pad, 0, pad))
    return torch.stack([whole[..., :half, :half], whole[..., half:, :half], whole[..., half:, half:]], -3)


def whole(P: torch.Tensor, late: torch.Tensor, lag: torch.Tensor, w: int) -> torch.Tensor:
    """A⁻¹ of its blocks, (…, 3, H, H), and of c and u that are late, (…, LAZY, 2, 2H): (…, w, w)."""
    A, B, C = P.unbind(-3)
    M = torch.cat([torch.cat([A, B.mT], -1), torch.cat([B, C], -1)], -2)
    places = torch.arange(M.shape[-1], device=M.device)
    for past in range(late.shape[-3] - 1):
        c, u = late[..., past, 0, :], late[..., past, 1, :]
        taken = places == lag[..., 1 + past, None]
        kept = (M - c[..., :, None] * c[..., None, :]) * ~(taken[..., :, None] | taken[..., None, :])
        M = torch.where((lag[..., 0] > past)[..., None, None], kept + u[..., :, None] * u[..., None, :], M)
    return M[..., :w, :w]
