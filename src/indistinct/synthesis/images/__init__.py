"""Synthetic images: one release of class sums of features, then a generator that is fitted to them."""

from indistinct.synthesis.images.feature_maps import ImageMap as ImageMap
from indistinct.synthesis.images.feature_maps import MapPart as MapPart
from indistinct.synthesis.images.feature_maps import standard_map as standard_map
from indistinct.synthesis.images.generator import Generator as Generator
from indistinct.synthesis.images.patches import PatchPart as PatchPart
from indistinct.synthesis.images.quality import ImageNearness as ImageNearness
from indistinct.synthesis.images.quality import accuracy as accuracy
from indistinct.synthesis.images.quality import frechet_distance as frechet_distance
from indistinct.synthesis.images.quality import grid as grid
from indistinct.synthesis.images.quality import inception_features as inception_features
from indistinct.synthesis.images.quality import nearness as nearness
from indistinct.synthesis.images.quality import wavelet_features as wavelet_features
from indistinct.synthesis.images.report import ImageEvaluation as ImageEvaluation
from indistinct.synthesis.images.report import evaluate_images as evaluate_images
from indistinct.synthesis.images.synthesizer import Choice as Choice
from indistinct.synthesis.images.synthesizer import ImageSynthesizer as ImageSynthesizer
from indistinct.synthesis.images.synthesizer import Mode as Mode
from indistinct.synthesis.images.synthesizer import SyntheticImages as SyntheticImages
from indistinct.synthesis.images.training import ImageTraining as ImageTraining
from indistinct.synthesis.images.training import sample as sample
from indistinct.synthesis.images.training import train as train
from indistinct.synthesis.images.views import Pixels as Pixels
from indistinct.synthesis.images.views import View as View
from indistinct.synthesis.images.views import Wavelets as Wavelets
