"""Synthetic images: one release of class sums of features, then a generator that is fitted to them."""

from indistinct.synthesis.images.feature_maps import ImageMap, MapPart, standard_map
from indistinct.synthesis.images.generator import Generator
from indistinct.synthesis.images.patches import PatchPart
from indistinct.synthesis.images.quality import (
    ImageNearness,
    accuracy,
    frechet_distance,
    grid,
    inception_features,
    nearness,
    wavelet_features,
)
from indistinct.synthesis.images.report import ImageEvaluation, evaluate_images
from indistinct.synthesis.images.synthesizer import Choice, ImageSynthesizer, Mode, SyntheticImages
from indistinct.synthesis.images.training import ImageTraining, sample, train
from indistinct.synthesis.images.views import Pixels, View, Wavelets

__all__ = [
    "Choice",
    "Generator",
    "ImageEvaluation",
    "ImageMap",
    "ImageNearness",
    "ImageSynthesizer",
    "ImageTraining",
    "MapPart",
    "Mode",
    "PatchPart",
    "Pixels",
    "SyntheticImages",
    "View",
    "Wavelets",
    "accuracy",
    "evaluate_images",
    "frechet_distance",
    "grid",
    "inception_features",
    "nearness",
    "sample",
    "standard_map",
    "train",
    "wavelet_features",
]
