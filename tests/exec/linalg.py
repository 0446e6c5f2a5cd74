"""200 seeded linear algebra calls; prints a digest of each result, so that two runs can be compared bit for bit."""
import hashlib
import random
import sys

import numpy as np

draw = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
numbers = np.random.default_rng(draw.getrandbits(32))


def matrix(rows, columns, dtype):
    a = numbers.standard_normal((rows, columns))
    if dtype.startswith("c"):
        a = a + 1j * numbers.standard_normal((rows, columns))
    return a.astype(dtype, order=draw.choice("CF"))


def symmetric(n, dtype):
    a = matrix(n, n, dtype)
    return a + a.conj().T + 3 * n * np.eye(n, dtype=dtype)


def one_call():
    dtype, n, m = draw.choice(("f4", "f8", "c8", "c16")), draw.randint(1, 12), draw.randint(1, 12)
    a, b, square, s = matrix(m, n, dtype), matrix(n, m, dtype), matrix(n, n, dtype), symmetric(n, dtype)
    calls = {
        "matmul": lambda: a @ b,
        "transposed": lambda: a.T @ a,
        "strided": lambda: a[::2] @ b[:, ::-1],
        "vector": lambda: a @ b[:, 0],
        "dot": lambda: np.dot(a[0], b[:, 0]),
        "vdot": lambda: np.vdot(b[:, 0], a[0]),
        "outer": lambda: np.outer(a[0], b[:, 0]),
        "solve": lambda: np.linalg.solve(square, b),
        "inv": lambda: np.linalg.inv(square),
        "det": lambda: np.linalg.det(square),
        "cholesky": lambda: np.linalg.cholesky(s),
        "qr": lambda: np.linalg.qr(a),
        "svd": lambda: np.linalg.svd(a),
        "eigh": lambda: np.linalg.eigh(s),
        "eig": lambda: np.linalg.eig(square),
        "lstsq": lambda: np.linalg.lstsq(a, matrix(m, 2, dtype), rcond=None),
        "pinv": lambda: np.linalg.pinv(a),
        "norm": lambda: np.linalg.norm(a, 2),
        "power": lambda: np.linalg.matrix_power(square, 3),
    }
    name = draw.choice(sorted(calls))
    try:
        result = calls[name]()
    except np.linalg.LinAlgError as error:
        return f"{name} {dtype} {m}x{n} {error}"
    digest = hashlib.sha256()
    for part in result if isinstance(result, tuple) else (result,):
        digest.update(np.ascontiguousarray(part).tobytes())
    return f"{name} {dtype} {m}x{n} {digest.hexdigest()[:16]}"


for _ in range(200):
    print(one_call())
