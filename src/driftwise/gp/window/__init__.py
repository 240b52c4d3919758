"""The one window engine: Gaussian processes on the last observations, at finitely many candidates, while these slide.

A window has slots. With K the kernel rows of what its slots hold, (w, n), λ the noise and A = K_ww + λI,

    mean = Kᵀ A⁻¹ y,    variance = k(x, x) − V,    V = the diagonal of Kᵀ A⁻¹ K

A slide drops the observation of a slot and puts a new one, of candidate j, into a slot. Each changes A⁻¹ along one
vector. With c = A⁻¹[:, s]/√p, p = A⁻¹[s, s], of the slot s that is emptied, and k the kernel of the new observation
with the others,

    leave:   A⁻¹ −= c cᵀ      g = Kᵀc      V −= g²      mean −= g cᵀy
    enter:   A⁻¹ += u uᵀ      h = Kᵀu      V += h²      mean += h uᵀy      u = (−A⁻¹k, 1)/√δ,  δ = k(x, x) + λ − kᵀA⁻¹k

where y in uᵀy has the new reward, and u its 1 in the new slot. Nearly all the cost are the products Kᵀc and Kᵀu, which
read the kernel rows once, and A⁻¹, which is read and written once. With little noise u is refined once by its
residual, A⁻¹k −= A⁻¹(A A⁻¹k − k), since A⁻¹k is small beside the terms of its sum.

c observations of one candidate are equivalent to one of their mean with noise λ/c, and may share a slot. One more or
one less of these changes A⁻¹ along its column of that slot, too:

    c or u = √g A⁻¹eᵢ,    1/g = (A⁻¹)ᵢᵢ + c(c + 1)/λ    (A⁻¹ with that observation, c how many others there are)

For c = 0 these are the vectors from above. The mean changes by ∓(Δ/√g + cᵀȳ) g, or h, where Δ is the change of the mean
reward of that candidate and ȳ are the means without the observation; and the information gain by ±(ln((c + 1)√g) −
½ ln λ).

Everything is computed afresh on a rule of the observation's number, so that a replay ends in the same bits.

Arrays are by keys, experts and slots. For one key and one expert, read `slots` (what the window holds), `inverse` (its
A⁻¹, or a factor where the noise is small) and `sweep` (mean and variance), in NumPy; `compiled_slots` is the same in
Numba. `experts` is for many experts of one key or many, in NumPy, and `density` how likely a reward is to each.
`compiled` is for many keys, in Numba, with `blocks` (points of a box beside those of a mesh); `gpu_kernels` and `gpu`
are for keys and experts on a card.
"""
