"""A program that knows nothing of shunt: three least squares fits, one of them with a badly scaled column."""
import numpy as np


def fit(a, y):
    return np.linalg.solve(a.T @ a, a.T @ y)


def residual(a, y):
    x = fit(a, y)
    return y - a @ x


x = np.linspace(0, 1, 8)
y = 1e160 * (1 + x)
for scale in 1, 1e-80, 1e-155:
    a = np.stack([np.ones_like(x), scale * x], axis=1)
    print(f"{scale:g}: off by {round(np.abs(residual(a, y)).max() / 1e160, 12)}")
