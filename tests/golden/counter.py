"""Weights by a counter, as tests/resnet.h makes them: element i of tensor k depends on k and i alone."""

import numpy


def uniform(seed, n, low, high):
    z = (numpy.uint64(seed << 32) + numpy.arange(n, dtype=numpy.uint64)) + numpy.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    z = z ^ (z >> numpy.uint64(31))
    return low + (high - low) * ((z >> numpy.uint64(11)).astype(numpy.float64) * 2.0 ** -53)


def bounds(path, shape):
    if len(shape) > 1:
        bound = numpy.sqrt(6.0 / float(numpy.prod(shape[1:])))
        return -bound, bound
    if "running_var" in path:
        return 0.5, 1.5
    return (0.8, 1.2) if "weight" in path else (-0.1, 0.1)


def filled(state):
    """A state dict of the same keys and shapes, tensors numbered from 1."""
    import torch

    result = {}
    for k, (path, t) in enumerate(state.items(), 1):
        values = uniform(k, t.numel(), *bounds(path, t.shape)) if t.dtype == torch.float32 else numpy.zeros(t.numel())
        result[path] = torch.from_numpy(values).to(t.dtype).reshape(t.shape)
    return result


def image(number):
    import torch

    return torch.from_numpy(uniform(1000 + number, 3 * 224 * 224, -2.0, 2.0).astype(numpy.float32)).reshape(1, 3, 224, 224)
