# Every op is a plain exported function: NumPy arrays under modes, through ctypes alone, without a copy.
import ctypes as c
import numpy as np

sh = c.CDLL("libshunt.so.0")
class Ints(c.Structure): _fields_ = [("at", c.POINTER(c.c_int64)), ("n", c.c_size_t)]
class Error(c.Structure): _fields_ = [("code", c.c_int), ("op", c.c_char_p), ("where", c.c_char_p), ("message", c.c_char_p)]
for name in "sh_from_data", "sh_add_", "sh_sqrt", "sh_mode_new": getattr(sh, name).restype = c.c_void_p
sh.sh_call_name.restype, sh.sh_error.restype = c.c_char_p, c.POINTER(Error)

def tensor(a):  # a view of the array's own memory, strides and all; 2 is SH_F64
    sizes, strides = ((c.c_int64 * a.ndim)(*t) for t in (a.shape, (s // a.itemsize for s in a.strides)))
    data = c.c_void_p(a.ctypes.data)
    return c.c_void_p(sh.sh_from_data(data, 2, Ints(sizes, a.ndim), Ints(strides, a.ndim), None, None))

@c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_void_p)
def add_to_mul(mode, call):  # a mode's callback in Python
    print("saw", sh.sh_call_name(c.c_void_p(call)).decode())
    return sh.sh_call_swap_named(c.c_void_p(call), b"mul") or 1  # SH_PASS

x, y = np.arange(6.0).reshape(2, 3).T, np.full((3, 2), 10.0)
mode, nancheck = c.c_void_p(sh.sh_mode_new(add_to_mul, None)), c.c_void_p()
sh.sh_push_mode(mode)
sh.sh_add_(tensor(x), tensor(y), None)  # x += y, as it was written
sh.sh_pop_mode(mode)
print(x)

sh.sh_mode_from_spec(b"nancheck:out=/dev/null", c.byref(nancheck))  # a mode that the library brings
sh.sh_push_mode(nancheck)
sh.sh_sqrt(tensor(x - 5), None)
print(sh.sh_error().contents.message.decode())
