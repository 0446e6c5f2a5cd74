/* round_trip.h - what the targets of tensor files ask of what was read: all of it is there, and written and read again it
 * is the same. */
#ifndef SH_TESTS_FUZZ_ROUND_TRIP_H
#define SH_TESTS_FUZZ_ROUND_TRIP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ops/io/io.h"
#include "ops/ops.h"

static inline void require(bool holds) {
    if (!holds) abort();
}

static inline const char *scratch_file(void) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/shunt-fuzz-%ld", (long)getpid());
    return path;
}

/* In row-major order: a file may hold the other. */
static inline void require_same(sh_tensor *a, sh_tensor *b) {
    require(a && b && sh_tensor_dtype(a) == sh_tensor_dtype(b) && sh_tensor_ndim(a) == sh_tensor_ndim(b));
    for (int i = 0; i < sh_tensor_ndim(a); i++) require(sh_tensor_sizes(a)[i] == sh_tensor_sizes(b)[i]);
    const sh_tensor *x = sh_call_op("contiguous", a), *y = sh_call_op("contiguous", b);
    require(x && y);
    const size_t bytes = (size_t)sh_tensor_numel(x) * sh_dtype_size(sh_tensor_dtype(x));
    require(!bytes || memcmp(sh_tensor_data(x), sh_tensor_data(y), bytes) == 0);
}

static inline void require_same_dict(const sh_dict *a, const sh_dict *b) {
    require(sh_dict_size(a) == sh_dict_size(b));
    for (size_t i = 0; i < sh_dict_size(a); i++)
        require_same(sh_dict_at(a, i), sh_dict_find(b, sh_dict_name(a, i)));
}

/* A name may be too long to be written. */
static inline void round_trip(const sh_dict *dict, sh_status (*save)(const char *, const sh_dict *),
                              sh_status (*load)(const char *, sh_dict **)) {
    sh_dict *again = NULL;
    if (save(scratch_file(), dict) < 0) {
        require(sh_error() && sh_error()->code == SH_ERROR_VALUE);
        return;
    }
    require(load(scratch_file(), &again) >= 0);
    require_same_dict(dict, again);
    sh_dict_free(again);
    unlink(scratch_file());
}

#endif
