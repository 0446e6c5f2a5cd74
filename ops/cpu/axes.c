/* axes.c - sorting and joining axes, and moving elements along one (axes.h). */
#include "ops/cpu/axes.h"

#include <string.h>

#include "ops/iter.h"

enum { PIECE = 512 };

/* ---- axes ---- */

void sh__axes_sort(sh_axes *list) {
    for (int i = 1; i < list->n; i++)
        for (int k = i; k > 0 && sh__axis_reach(&list->at[k - 1]) < sh__axis_reach(&list->at[k]); k--) {
            const sh_axis swapped = list->at[k];
            list->at[k] = list->at[k - 1];
            list->at[k - 1] = swapped;
        }
}

void sh__axes_join(sh_axes *list) {
    int n = 0;
    for (int i = 0; i < list->n; i++) {
        sh_axis *last = n ? &list->at[n - 1] : NULL;
        const sh_axis next = list->at[i];
        if (last && last->in == next.in * next.size && last->out == next.out * next.size)
            *last = (sh_axis){last->size * next.size, next.in, next.out};
        else
            list->at[n++] = next;
    }
    if (n == 0) list->at[n++] = (sh_axis){1, 0, 0};
    list->n = n;
}

/* ---- elements in and out ---- */

#define STRIDED_COPY(T)             \
    for (int64_t i = 0; i < n; i++) \
    memcpy(to + i * to_stride * (int64_t)sizeof(T), from + i * from_stride * (int64_t)sizeof(T), sizeof(T))

void sh__copy_strided(char *to, int64_t to_stride, const char *from, int64_t from_stride, size_t element,
                      int64_t n) {
    switch (element) {
    case 1: STRIDED_COPY(uint8_t); break;
    case 2: STRIDED_COPY(uint16_t); break;
    case 4: STRIDED_COPY(uint32_t); break;
    default: STRIDED_COPY(uint64_t);
    }
}

static void load_piece(sh_dtype from, const char *at, int64_t stride, int64_t n, sh_dtype as, sh_dtype type,
                       char *to) {
    uint64_t gathered[PIECE], rounded[PIECE];
    const size_t element = sh_dtype_size(from);
    const void *x = at;
    if (stride != 1) {
        x = from == as && as == type ? (void *)to : gathered;
        sh__copy_strided((char *)(uintptr_t)x, 1, at, stride, element, n);
        if (x == to) return;
    }
    if (from == as || as == type) {
        sh__convert(type, to, from, x, n);
        return;
    }
    sh__convert(as, rounded, from, x, n);
    sh__convert(type, to, as, rounded, n);
}

const void *sh__load(const sh_tensor *t, const char *at, int64_t stride, int64_t n, sh_dtype as,
                     sh_dtype type, void *buffer) {
    const sh_dtype from = (sh_dtype)t->dtype;
    if (from == type && as == type && stride == 1) return at;
    const int64_t step = stride * (int64_t)t->element, size = (int64_t)sh_dtype_size(type);
    for (int64_t i = 0; i < n; i += PIECE)
        load_piece(from, at + i * step, stride, n - i < PIECE ? n - i : PIECE, as, type,
                   (char *)buffer + i * size);
    return buffer;
}

void sh__store(const sh_tensor *t, char *at, int64_t stride, int64_t n, sh_dtype type, const void *numbers) {
    const sh_dtype to = (sh_dtype)t->dtype;
    if (stride == 1) {
        sh__convert(to, at, type, numbers, n);
        return;
    }
    uint64_t dense[PIECE];
    for (int64_t i = 0; i < n; i += PIECE) {
        const int64_t part = n - i < PIECE ? n - i : PIECE;
        sh__convert(to, dense, type, (const char *)numbers + i * (int64_t)sh_dtype_size(type), part);
        sh__copy_strided(at + i * stride * (int64_t)t->element, stride, (char *)dense, 1, t->element, part);
    }
}
