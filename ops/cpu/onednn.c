/* onednn.c - calls of oneDNN: threads, statuses, and primitives that are kept.
 *
 * f32 and bytes have plain functions. bf16 needs a primitive, made for one shape and layout; each thread keeps the last few
 * hundred, with the memory objects that they run on, so that nothing is locked or made anew. Scratch memory is ours.
 *
 * oneDNN takes as many OpenMP threads as there are, so their number is lowered around its calls: in the child of a fork
 * they are gone, and little work is done sooner by one. */
#include "ops/cpu/onednn.h"

#include <dnnl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "dispatch/memory_impl.h"

sh_status sh_onednn_status(int status, const char *what) {
    switch (status) {
    case dnnl_success: return SH_OK;
    case dnnl_out_of_memory: return sh_fail(SH_ERROR_MEMORY, "oneDNN: out of memory in %s", what);
    case dnnl_unimplemented:
        return sh_fail(SH_ERROR_UNSUPPORTED, "oneDNN: %s is not implemented for this case", what);
    default: return sh_fail(SH_ERROR_KERNEL, "oneDNN: %s failed with status %d", what, status);
    }
}

/* ---- threads ---- */

int sh_onednn_limit(int threads) {
#ifdef _OPENMP
    const int before = omp_get_max_threads();
    if (threads < before) omp_set_num_threads(threads);
    return before;
#else
    return threads;
#endif
}

void sh_onednn_restore(int before) {
#ifdef _OPENMP
    if (omp_get_max_threads() != before) omp_set_num_threads(before);
#else
    (void)before;
#endif
}

/* ---- f32 ---- */

sh_status sh_onednn_f32(int threads, int64_t m, int64_t n, int64_t k, sh_blas_matrix a, sh_blas_matrix b,
                        bool accumulate, void *c, int64_t c_leading) {
    const int before = sh_onednn_limit(threads);
    const dnnl_status_t status = dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, 1,
                                            a.data, a.leading, b.data, b.leading, accumulate, c, c_leading);
    sh_onednn_restore(before);
    return sh_onednn_status(status, "sgemm");
}

/* ---- bytes ---- */

int sh_onednn_u8_end(void) {
    const unsigned vnni = dnnl_cpu_isa_avx512_core_vnni;
    return (dnnl_get_effective_cpu_isa() & vnni) == vnni ? 256 : 128;
}

int sh_onednn_u8_i8(int threads, int64_t m, int64_t n, int64_t k, sh_blas_matrix a, uint8_t zero,
                    sh_blas_matrix b, int32_t *c) {
    const int32_t nothing = 0;
    const int before = sh_onednn_limit(threads);
    const dnnl_status_t status =
        dnnl_gemm_u8s8s32(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', 'F', m, n, k, 1, a.data,
                          a.leading, zero, b.data, b.leading, 0, 0, c, n, &nothing);
    sh_onednn_restore(before);
    return status;
}

/* ---- bf16 ---- */

typedef struct key {
    int64_t m, n, k, a_leading, b_leading, c_leading;
    uint64_t a_transposed, b_transposed, accumulate;
} key;

enum { SRC, WEIGHTS, DST, SCRATCH, ARGUMENTS };

typedef struct entry {
    key key;
    dnnl_primitive_t primitive; /* NULL: the entry is free */
    dnnl_memory_t memory[ARGUMENTS];
    size_t scratch;
    uint64_t used;
} entry;

enum { SETS = 64, WAYS = 4 };

typedef struct cache {
    dnnl_stream_t stream;
    uint64_t clock;
    entry entries[SETS][WAYS];
} cache;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;
static dnnl_engine_t engine;
static bool has_bf16;
static __thread cache *mine;

static void clear_entry(entry *e) {
    for (int i = 0; i < ARGUMENTS; i++)
        if (e->memory[i]) dnnl_memory_destroy(e->memory[i]);
    if (e->primitive) dnnl_primitive_destroy(e->primitive);
    memset(e, 0, sizeof *e);
}

static void free_cache(void *value) {
    cache *c = value;
    for (int i = 0; i < SETS; i++)
        for (int k = 0; k < WAYS; k++) clear_entry(&c->entries[i][k]);
    if (c->stream) dnnl_stream_destroy(c->stream);
    sh__free(c);
    mine = NULL;
}

__attribute__((destructor)) static void library_exit(void) {
    if (mine) free_cache(mine);
    if (engine) dnnl_engine_destroy(engine);
}

static dnnl_status_t describe(dnnl_memory_desc_t *d, int64_t rows, int64_t columns, int64_t leading,
                              bool transposed) {
    const dnnl_dims_t sizes = {rows, columns};
    const dnnl_dims_t strides = {transposed ? 1 : leading, transposed ? leading : 1};
    return dnnl_memory_desc_init_by_strides(d, 2, sizes, dnnl_bf16, strides);
}

static dnnl_status_t make_descriptor(const key *k, dnnl_primitive_desc_t *made) {
    dnnl_memory_desc_t a, b, c;
    dnnl_matmul_desc_t product;
    dnnl_post_ops_t post = NULL;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_status_t status = describe(&a, k->m, k->k, k->a_leading, k->a_transposed);
    if (!status) status = describe(&b, k->k, k->n, k->b_leading, k->b_transposed);
    if (!status) status = describe(&c, k->m, k->n, k->c_leading, false);
    if (!status) status = dnnl_matmul_desc_init(&product, &a, &b, NULL, &c);
    if (!status) status = dnnl_post_ops_create(&post);
    if (!status && k->accumulate) status = dnnl_post_ops_append_sum(post, 1);
    if (!status) status = dnnl_primitive_attr_create(&attr);
    if (!status) status = dnnl_primitive_attr_set_post_ops(attr, post);
    if (!status) status = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
    if (!status) status = dnnl_primitive_desc_create(made, &product, attr, engine, NULL);
    if (post) dnnl_post_ops_destroy(post);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return status;
}

static dnnl_status_t fill_entry(entry *e, const key *k) {
    static const dnnl_query_t queries[ARGUMENTS] = {dnnl_query_src_md, dnnl_query_weights_md,
                                                    dnnl_query_dst_md, dnnl_query_scratchpad_md};
    dnnl_primitive_desc_t descriptor = NULL;
    dnnl_status_t status = make_descriptor(k, &descriptor);
    if (!status) status = dnnl_primitive_create(&e->primitive, descriptor);
    for (int i = 0; !status && i < ARGUMENTS; i++) {
        const dnnl_memory_desc_t *d = dnnl_primitive_desc_query_md(descriptor, queries[i], 0);
        if (i == SCRATCH) e->scratch = dnnl_memory_desc_get_size(d);
        status = dnnl_memory_create(&e->memory[i], d, engine, DNNL_MEMORY_NONE);
    }
    if (descriptor) dnnl_primitive_desc_destroy(descriptor);
    e->key = *k;
    if (status) clear_entry(e);
    return status;
}

/* Makes the engine. Without AVX-512 oneDNN has no bf16, or a slow one for reference only. */
static void find_bf16(void) {
    const key probe = {64, 64, 64, 64, 64, 64, 0, 0, 0};
    dnnl_primitive_desc_t descriptor = NULL;
    const char *name = NULL;
    if (pthread_key_create(&exit_key, free_cache) != 0 ||
        dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success)
        return;
    if (make_descriptor(&probe, &descriptor) != dnnl_success) return;
    dnnl_primitive_desc_query(descriptor, dnnl_query_impl_info_str, 0, &name);
    has_bf16 = name && strncmp(name, "ref", 3) != 0;
    dnnl_primitive_desc_destroy(descriptor);
}

bool sh_onednn_has_bf16(void) {
    pthread_once(&once, find_bf16);
    return has_bf16;
}

struct dnnl_engine *sh_onednn_engine(void) {
    pthread_once(&once, find_bf16);
    return engine;
}

static cache *cache_of_thread(void) {
    if (mine) return mine;
    cache *c = sh__calloc(1, sizeof *c);
    if (!c) return NULL;
    if (dnnl_stream_create(&c->stream, engine, dnnl_stream_default_flags) != dnnl_success ||
        pthread_setspecific(exit_key, c) != 0) {
        sh_fail(SH_ERROR_MEMORY, "oneDNN: out of memory for a stream");
        free_cache(c);
        return NULL;
    }
    return mine = c;
}

static uint64_t hash(const key *k) {
    const uint64_t *words = (const uint64_t *)(const void *)k;
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof *k / sizeof *words; i++)
        h = (h ^ words[i]) * UINT64_C(0x9E3779B97F4A7C15) ^ h >> 29;
    return h >> 32;
}

static bool is_for(const entry *e, const key *k) {
    return e->primitive && memcmp(&e->key, k, sizeof *k) == 0;
}

/* The entry of a key, made if need be in place of the one of its set that was not used for longest. */
static entry *find_entry(cache *c, const key *k) {
    entry *set = c->entries[hash(k) % SETS], *chosen = set;
    for (int i = 0; i < WAYS && !is_for(chosen, k); i++)
        if (is_for(&set[i], k) || set[i].used < chosen->used) chosen = &set[i];
    if (!is_for(chosen, k)) {
        clear_entry(chosen);
        if (sh_onednn_status(fill_entry(chosen, k), "matmul") < 0) return NULL;
    }
    chosen->used = ++c->clock;
    return chosen;
}

static sh_status run_entry(cache *c, entry *e, int threads, const void *const *data) {
    static const int roles[ARGUMENTS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD};
    dnnl_exec_arg_t arguments[ARGUMENTS];
    size_t capacity = 0;
    void *scratch = e->scratch ? sh__block_alloc(e->scratch, &capacity) : NULL;
    if (e->scratch && !scratch) return SH_ERROR_MEMORY;
    dnnl_status_t status = dnnl_success;
    for (int i = 0; i < ARGUMENTS && !status; i++) {
        arguments[i] = (dnnl_exec_arg_t){roles[i], e->memory[i]};
        status =
            dnnl_memory_set_data_handle(e->memory[i], i == SCRATCH ? scratch : (void *)(uintptr_t)data[i]);
    }
    const int before = sh_onednn_limit(threads);
    if (!status) status = dnnl_primitive_execute(e->primitive, c->stream, ARGUMENTS, arguments);
    if (!status) status = dnnl_stream_wait(c->stream);
    sh_onednn_restore(before);
    if (scratch) sh__block_free(scratch, capacity);
    return sh_onednn_status(status, "matmul");
}

sh_status sh_onednn_bf16(int threads, int64_t m, int64_t n, int64_t k, sh_blas_matrix a, sh_blas_matrix b,
                         bool accumulate, void *c, int64_t c_leading) {
    const key wanted = {m, n, k, a.leading, b.leading, c_leading, a.transposed, b.transposed, accumulate};
    cache *kept = cache_of_thread();
    entry *e = kept ? find_entry(kept, &wanted) : NULL;
    if (!e) return sh_error()->code;
    return run_entry(kept, e, threads, (const void *const[ARGUMENTS]){a.data, b.data, c, NULL});
}
