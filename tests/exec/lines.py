"""Calls whose lines exec_programs.sh knows."""
import os
import threading

import numpy as np

a = np.arange(6.0).reshape(2, 3)
b = a.T.copy()


def product():
    return a @ b


def solve():
    return np.linalg.solve(a @ a.T, b.T[:, :1])


for _ in range(2):
    np.dot(a, b)


def threaded():
    return np.dot(a, b)


product()
solve()


def child():
    return np.matmul(a, b)


thread = threading.Thread(target=threaded)
thread.start()
thread.join()
pid = os.fork()
if pid == 0:
    child()
    os._exit(0)
os.waitpid(pid, 0)
np.linalg.qr(np.ones((4, 3)))
