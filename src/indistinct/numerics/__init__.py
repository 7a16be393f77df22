"""Numbers only: quadrature over a privacy loss, tail integrals, root finding.

Nothing here knows what a mechanism or a guarantee is.
"""
