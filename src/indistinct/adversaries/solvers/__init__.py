"""Restricted divergences as convex programmes: a search proposes, a certificate decides what is claimed.

`laws` and `spans` say what is released and which functions are allowed; `quadrature` integrates them. The
searches (`renyi`, `piecewise`, `kullback`, `far_peaks`, `independent`, `tables`) share one Newton iteration
(`newton`) and may fail; what is reported comes from a certificate, a feasible point of the dual problem,
which is judged without asking how it was found.
"""
