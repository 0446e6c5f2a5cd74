"""A program that knows nothing of shunt: a small least squares fit by its normal equations, and the norm of what is left."""
import numpy as np

rng = np.random.default_rng(1)
a, y = rng.standard_normal((200, 3)), rng.standard_normal(200)
x = np.linalg.solve(a.T @ a, a.T @ y)
residual = y - a @ x
print(f"{np.sqrt(residual @ residual):.6f}")
