/* iter.h - going over tensors element by element, in tiles.
 *
 * A loop works on contiguous arrays of its own types. sh__map brings tensors of any layout and dtype before
 * it: what is contiguous and of the right dtype as it is, anything else through a tile of SH_TILE elements on
 * the stack, gathered (broadcasting too), converted, and on the way out converted and scattered.
 *
 *     const sh_map map = {.loop = loops->loop[SH_LOOP_add][SH_F32], .to = r, .made = SH_F32, .n = 2,
 *                         .from = {{a, SH_F32, SH_F32}, {b, SH_F32, SH_F32}}};
 *     sh__map(&map);
 *
 * Operands broadcast to the shape of `to`, which may be an operand itself, element on element. Without a `to` the
 * loop only looks at the first operand, in its shape. Large ones are shared out among OpenMP's threads. */
#ifndef SH_OPS_ITER_H
#define SH_OPS_ITER_H

#include "dispatch/tensor_impl.h"

enum { SH_TILE = 512, SH_MAP_OPERANDS = 3 };

/* n elements: to[i] from first[i], second[i], third[i] (those that there are) and the loop's parameters. */
typedef void sh_loop(void *to, const void *first, const void *second, const void *third, int64_t n,
                     const void *parameters);

typedef struct sh_operand {
    const sh_tensor *t;
    sh_dtype common; /* rounded to this first: the dtype that the op's arguments promote to */
    sh_dtype as;     /* what the loop reads: common, or f32 for the half types */
} sh_operand;

typedef struct sh_map {
    sh_loop *loop;
    const void *parameters;
    sh_tensor *to; /* NULL: the loop writes nothing */
    sh_dtype made; /* what it writes */
    int n;
    sh_operand from[SH_MAP_OPERANDS];
} sh_map;

void sh__map(const sh_map *map);

enum { SH_MAP_PARAMETERS = 32 }; /* bytes of an elementwise op's */

/* What the kernel of an elementwise op would map, for a plan that runs its loop itself. While this thread has a note, maps
 * are written there and not done; so the kernel may be called with tensors that have no data.
 *
 *     sh_map_note note = {.maps = 0};
 *     sh__map_note(&note);
 *     kernel(...);
 *     sh__map_note(NULL);      if (note.maps == 1) note.map is all that it does */
typedef struct sh_map_note {
    sh_map map;                                     /* the last one */
    _Alignas(8) char parameters[SH_MAP_PARAMETERS]; /* where map.parameters points, if it has some */
    int maps;
} sh_map_note;
void sh__map_note(sh_map_note *note);
/* True, and it is written down, while this thread has a note: for kernels with ways round sh__map. */
bool sh__map_noted(const sh_map *map);

/* Whole arrays, dtype to dtype, as PyTorch converts: to nearest even for floats, toward zero for integers, anything
 * but 0 is true. `to` and `from` don't overlap. */
void sh__convert(sh_dtype to_dtype, void *to, sh_dtype from_dtype, const void *from, int64_t n);

/* How many threads are worth it for this many elements; 1 in the child of a fork. */
int sh__threads(int64_t n);

/* Where part `i` of `parts` begins; on a multiple of 64 elements, so that no two parts share a line. */
static inline int64_t sh__part_begin(int64_t n, int i, int parts) {
    return i == parts ? n : (n / parts * i) & ~INT64_C(63);
}

/* In front of a loop whose turns may run at once, by that many threads. */
#ifdef _OPENMP
#define SH_PARALLEL(threads) SH_PARALLEL_PRAGMA(omp parallel for num_threads(threads))
#define SH_PARALLEL_PRAGMA(text) _Pragma(#text)
#else
#define SH_PARALLEL(threads) (void)(threads);
#endif

#endif
