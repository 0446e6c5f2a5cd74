/* infer_factory.h - results of ops that make tensors from sizes and numbers. `op` is for messages. */
#ifndef SH_OPS_INFER_FACTORY_H
#define SH_OPS_INFER_FACTORY_H

#include "ops/promote.h"

/* Can the number be stored as this dtype? Any can as bool; infinity and NaN as a float; a negative one wraps in u8,
 * as in torch. */
sh_status sh__check_number(const char *op, const char *argument, sh_scalar number, sh_dtype dtype);

/* sizes with the given dtype, f32 where none is given. */
sh_status sh_infer_factory(sh_spec *r, const char *op, sh_ints size, sh_dtype dtype);
/* Shape and, unless one is given, dtype of self. */
sh_status sh_infer_like(sh_spec *r, const sh_tensor *self, sh_dtype dtype);

/* The dtype follows the number where none is given. */
sh_status sh_infer_full(sh_spec *r, sh_ints size, sh_scalar fill_value, sh_dtype dtype);
sh_status sh_infer_full_like(sh_spec *r, const sh_tensor *self, sh_scalar fill_value, sh_dtype dtype);
/* start, start + step, ... before end: i64 if all are integers, else f32. */
sh_status sh_infer_arange(sh_spec *r, sh_scalar start, sh_scalar end, sh_scalar step, sh_dtype dtype);
sh_status sh_infer_linspace(sh_spec *r, sh_scalar start, sh_scalar end, int64_t steps, sh_dtype dtype);
sh_status sh_infer_eye(sh_spec *r, int64_t n, int64_t m, sh_dtype dtype);

/* Drawn from the reals: a float dtype. */
sh_status sh_infer_random(sh_spec *r, const char *op, sh_ints size, sh_dtype dtype);
sh_status sh_infer_random_like(sh_spec *r, const char *op, const sh_tensor *self, sh_dtype dtype);
/* Integers from low up to, not including, high, all of which the dtype must hold; i64 where none is given. */
sh_status sh_infer_randint(sh_spec *r, int64_t low, int64_t high, sh_ints size, sh_dtype dtype);
sh_status sh_infer_randint_like(sh_spec *r, const sh_tensor *self, int64_t low, int64_t high, sh_dtype dtype);

#endif
