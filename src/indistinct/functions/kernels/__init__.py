"""Kernels: similarities of points that functions are made of."""
