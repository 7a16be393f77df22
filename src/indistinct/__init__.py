"""Differential privacy as one question: how well can two neighbouring data sets be told apart?"""

__all__ = ["__version__"]

__version__ = "0.1.0"
