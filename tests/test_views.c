/* What the ops of section shape promise. Views are held against a model: a dense array of the elements that each
 * position should show, changed by plain index arithmetic. The ops that move data are held against ref, bit for bit. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "dispatch/tensor_impl.h"
#include "tests/sample.h"

#define TEXT(x) ((char *)(uintptr_t)(x))

/* ---- the model ---- */

enum { MOST = 4096 };

typedef struct model {
    int ndim;
    int64_t sizes[SH_MAX_DIMS], numel;
    int64_t at[MOST]; /* which element of the first tensor, row-major */
} model;

static int64_t product(const int64_t *sizes, int ndim) {
    int64_t n = 1;
    for (int i = 0; i < ndim; i++) n *= sizes[i];
    return n;
}

/* A source position for every position of the new shape: `index` in, the old index out. */
typedef void (*index_map)(const int64_t *index, int64_t *old, const int64_t *args);

static void remap(model *m, int ndim, const int64_t *sizes, index_map map, const int64_t *args) {
    static model next;
    next.ndim = ndim;
    next.numel = product(sizes, ndim);
    memcpy(next.sizes, sizes, sizeof next.sizes);
    for (int64_t i = 0; i < next.numel; i++) {
        int64_t index[SH_MAX_DIMS], old[SH_MAX_DIMS], rest = i, from = 0;
        for (int d = ndim; d-- > 0; rest /= sizes[d]) index[d] = rest % sizes[d];
        map(index, old, args);
        for (int d = 0; d < m->ndim; d++) from = from * m->sizes[d] + old[d];
        next.at[i] = m->at[from];
    }
    *m = next;
}

/* args: ndim of the old, then op specific. */
static void swap_map(const int64_t *index, int64_t *old, const int64_t *args) {
    memcpy(old, index, SH_MAX_DIMS * sizeof *old);
    old[args[1]] = index[args[2]];
    old[args[2]] = index[args[1]];
}
static void permute_map(const int64_t *index, int64_t *old, const int64_t *args) {
    for (int64_t i = 0; i < args[0]; i++) old[args[1 + i]] = index[i];
}
static void expand_map(const int64_t *index, int64_t *old,
                       const int64_t *args) { /* leading, then which repeat */
    for (int64_t i = 0; i < args[0]; i++) old[i] = args[2 + i] ? 0 : index[i + args[1]];
}
static void drop_map(const int64_t *index, int64_t *old,
                     const int64_t *args) { /* dim, the entry that it had */
    for (int64_t i = 0; i < args[0]; i++) old[i] = i == args[1] ? args[2] : index[i - (i > args[1])];
}
static void add_map(const int64_t *index, int64_t *old, const int64_t *args) {
    for (int64_t i = 0; i < args[0]; i++) old[i] = index[i + (i >= args[1])];
}
static void slice_map(const int64_t *index, int64_t *old, const int64_t *args) { /* dim, start, step */
    memcpy(old, index, SH_MAX_DIMS * sizeof *old);
    old[args[1]] = args[2] + index[args[1]] * args[3];
}

/* ---- steps: each takes a random one of its op, in the model and in the tensor ---- */

static int64_t any_dim(int ndim) { return sample_int(-ndim, ndim - 1); }
static int wrap(int64_t dim, int ndim) { return (int)(dim < 0 ? dim + ndim : dim); }

static sh_tensor *step_transpose(model *m, sh_tensor *t) {
    const int64_t a = any_dim(m->ndim), b = any_dim(m->ndim);
    const int64_t args[] = {m->ndim, wrap(a, m->ndim), wrap(b, m->ndim)};
    int64_t sizes[SH_MAX_DIMS];
    memcpy(sizes, m->sizes, sizeof sizes);
    sizes[args[1]] = m->sizes[args[2]];
    sizes[args[2]] = m->sizes[args[1]];
    remap(m, m->ndim, sizes, swap_map, args);
    return sh_transpose(t, a, b);
}

static sh_tensor *step_permute(model *m, sh_tensor *t) {
    int64_t args[1 + SH_MAX_DIMS] = {m->ndim}, sizes[SH_MAX_DIMS], dims[SH_MAX_DIMS];
    for (int i = 0; i < m->ndim; i++) args[1 + i] = i;
    for (int i = m->ndim - 1; i > 0; i--) {
        const int k = (int)sample_int(0, i);
        const int64_t held = args[1 + i];
        args[1 + i] = args[1 + k];
        args[1 + k] = held;
    }
    for (int i = 0; i < m->ndim; i++) {
        sizes[i] = m->sizes[args[1 + i]];
        dims[i] = args[1 + i] - (sample_int(0, 1) ? m->ndim : 0);
    }
    const int n = m->ndim;
    remap(m, n, sizes, permute_map, args);
    return sh_permute(t, sh_ints_of(dims, (size_t)n));
}

static sh_tensor *step_expand(model *m, sh_tensor *t) {
    const int leading = m->ndim < 5 ? (int)sample_int(0, 1) : 0, n = m->ndim + leading;
    int64_t args[2 + SH_MAX_DIMS] = {m->ndim, leading}, sizes[SH_MAX_DIMS], given[SH_MAX_DIMS];
    if (leading) sizes[0] = given[0] = sample_int(1, 2);
    for (int i = 0; i < m->ndim; i++) {
        args[2 + i] = m->sizes[i] == 1 && sample_int(0, 1);
        sizes[leading + i] = args[2 + i] ? sample_int(0, 3) : m->sizes[i];
        given[leading + i] = args[2 + i] || sample_int(0, 1) ? sizes[leading + i] : -1;
    }
    if (product(sizes, n) > MOST) return t;
    remap(m, n, sizes, expand_map, args);
    return sh_expand(t, sh_ints_of(given, (size_t)n));
}

/* Removes one dimension from the model, as select does at entry `at`. */
static void drop_dim(model *m, int dim, int64_t at) {
    const int64_t args[] = {m->ndim, dim, at};
    int64_t sizes[SH_MAX_DIMS];
    for (int i = 0, k = 0; i < m->ndim; i++)
        if (i != dim) sizes[k++] = m->sizes[i];
    remap(m, m->ndim - 1, sizes, drop_map, args);
}

static sh_tensor *step_squeeze(model *m, sh_tensor *t) {
    for (int i = m->ndim; i-- > 0;)
        if (m->sizes[i] == 1) drop_dim(m, i, 0);
    return sh_squeeze(t);
}

static sh_tensor *step_squeeze_dim(model *m, sh_tensor *t) {
    const int64_t dim = any_dim(m->ndim);
    const int at = wrap(dim, m->ndim);
    if (m->sizes[at] == 1) drop_dim(m, at, 0);
    return sh_squeeze_dim(t, dim);
}

static sh_tensor *step_unsqueeze(model *m, sh_tensor *t) {
    if (m->ndim > 5) return t;
    const int64_t dim = any_dim(m->ndim + 1);
    const int64_t args[] = {m->ndim, wrap(dim, m->ndim + 1)};
    int64_t sizes[SH_MAX_DIMS];
    for (int i = 0; i <= m->ndim; i++) sizes[i] = i == args[1] ? 1 : m->sizes[i - (i > args[1])];
    remap(m, m->ndim + 1, sizes, add_map, args);
    return sh_unsqueeze(t, dim);
}

static sh_tensor *step_select(model *m, sh_tensor *t) {
    const int64_t dim = any_dim(m->ndim), size = m->sizes[wrap(dim, m->ndim)];
    if (!size) return t;
    const int64_t index = sample_int(-size, size - 1);
    drop_dim(m, wrap(dim, m->ndim), index < 0 ? index + size : index);
    return sh_select(t, dim, index);
}

static void cut_dim(model *m, int dim, int64_t start, int64_t length, int64_t step) {
    const int64_t args[] = {m->ndim, dim, start, step};
    int64_t sizes[SH_MAX_DIMS];
    memcpy(sizes, m->sizes, sizeof sizes);
    sizes[dim] = length;
    remap(m, m->ndim, sizes, slice_map, args);
}

static sh_tensor *step_narrow(model *m, sh_tensor *t) {
    const int64_t dim = any_dim(m->ndim), size = m->sizes[wrap(dim, m->ndim)];
    const int64_t start = sample_int(0, size), length = sample_int(0, size - start);
    cut_dim(m, wrap(dim, m->ndim), start, length, 1);
    return sh_narrow(t, dim, start < size && sample_int(0, 1) ? start - size : start, length);
}

/* Python's slice, by looking at each index. */
static sh_tensor *step_slice(model *m, sh_tensor *t) {
    const int64_t dim = any_dim(m->ndim), size = m->sizes[wrap(dim, m->ndim)], step = sample_int(1, 4);
    const int64_t start = sample_int(-size - 2, size + 2), end = sample_int(-size - 2, size + 2);
    const int64_t low = start < 0 ? start + size : start, high = end < 0 ? end + size : end;
    int64_t first = -1, length = 0;
    for (int64_t i = low < 0 ? 0 : low; i < size && i < high; i += step) {
        if (first < 0) first = i;
        length++;
    }
    cut_dim(m, wrap(dim, m->ndim), first < 0 ? 0 : first, length, step);
    return sh_slice(t, .dim = dim, .start = start, .end = end, .step = step);
}

/* The same elements in a random shape: factors go to random dimensions, one may be left open. */
static sh_tensor *step_reshape(model *m, sh_tensor *t) {
    int64_t sizes[SH_MAX_DIMS] = {1, 1, 1, 1}, rest = m->numel;
    const int n = (int)sample_int(m->numel == 1 ? 0 : 1, 4);
    for (int64_t p = 2; rest > 1; p++)
        for (; rest % p == 0; rest /= p) sizes[sample_int(0, n - 1)] *= p;
    if (!m->numel) sizes[sample_int(0, n - 1)] = 0;
    m->ndim = n;
    memcpy(m->sizes, sizes, sizeof sizes);
    if (n && m->numel && sample_int(0, 1)) sizes[sample_int(0, n - 1)] = -1;
    return sh_reshape(t, sh_ints_of(sizes, (size_t)n));
}

static sh_tensor *step_flatten(model *m, sh_tensor *t) {
    const int64_t start = sample_int(0, m->ndim - 1), end = sample_int(start, m->ndim - 1);
    for (int64_t i = start + 1; i <= end; i++) m->sizes[start] *= m->sizes[i];
    for (int64_t i = end + 1; i < m->ndim; i++) m->sizes[i - (end - start)] = m->sizes[i];
    m->ndim -= (int)(end - start);
    return sh_flatten(t, .start_dim = start,
                      .end_dim = end - (sample_int(0, 1) ? m->ndim + (end - start) : 0));
}

typedef sh_tensor *(*view_step)(model *m, sh_tensor *t);
static const view_step steps[] = {step_transpose,   step_permute,   step_expand, step_squeeze,
                                  step_squeeze_dim, step_unsqueeze, step_select, step_narrow,
                                  step_slice,       step_reshape,   step_flatten};
enum { STEPS = sizeof steps / sizeof *steps };

/* The number that element i of the first tensor holds is i. */
static sh_tensor *numbered(int ndim, const int64_t *sizes, model *m) {
    m->ndim = ndim;
    m->numel = product(sizes, ndim);
    memcpy(m->sizes, sizes, (size_t)ndim * sizeof *sizes);
    for (int64_t i = 0; i < m->numel; i++) m->at[i] = i;
    return sh_reshape(sh_arange((int)m->numel), sh_ints_of(sizes, (size_t)ndim));
}

static void agree(const model *m, const sh_tensor *t, int step) {
    cr_assert(t != NULL, "step %d: %s", step, sh_error() ? sh_error()->message : "NULL");
    cr_assert(eq(int, sh_tensor_ndim(t), m->ndim), "step %d", step);
    for (int i = 0; i < m->ndim; i++) cr_assert(eq(i64, sh_tensor_sizes(t)[i], m->sizes[i]), "step %d", step);
    for (int64_t i = 0; sh_tensor_device(t) == SH_HOST && i < m->numel; i++)
        cr_assert(eq(i64, *(const int64_t *)sample_element(t, i), m->at[i]), "step %d, element %lld", step,
                  (long long)i);
}

Test(views, chains_of_views_show_what_the_index_arithmetic_says) {
    static model m, copy;
    for (int round = 0; round < 4000; round++) {
        SH_SCOPE {
            int64_t sizes[SH_MAX_DIMS];
            const int ndim = (int)sample_int(1, 4);
            sample_sizes(ndim, 5, sizes);
            sh_tensor *t = numbered(ndim, sizes, &m);
            sh_tensor *meta = sh_tensor_new_on(SH_META, SH_I64, sh_ints_of(sizes, (size_t)ndim));
            for (int i = 0; i < 6 && m.ndim; i++) {
                const int step = (int)sample_int(0, STEPS - 1);
                const uint64_t state = sample_state;
                copy = m;
                t = steps[step](&m, t);
                agree(&m, t, step);
                sample_state = state; /* the same step on the meta tensor */
                meta = steps[step](&copy, meta);
                agree(&copy, meta, step);
                for (int d = 0; d < m.ndim; d++)
                    cr_assert(eq(i64, sh_tensor_strides(t)[d], sh_tensor_strides(meta)[d]), "step %d", step);
            }
        }
    }
}

/* ---- sharing ---- */

Test(views, every_view_shares_storage_and_shows_later_writes) {
    sh_tensor *x = sh_reshape(sh_arange(24), SH_SIZES(2, 3, 4));
    sh_tensor *all[] = {sh_transpose(x, 0, 2),
                        sh_permute(x, SH_SIZES(2, 0, 1)),
                        sh_unsqueeze(x, 1),
                        sh_squeeze(x),
                        sh_select(x, 0, 1),
                        sh_narrow(x, 1, 1, 2),
                        sh_slice(x, .dim = 2, .step = 2),
                        sh_reshape(x, SH_SIZES(6, 4)),
                        sh_view(x, SH_SIZES(-1)),
                        sh_flatten(x),
                        sh_expand(x, SH_SIZES(5, 2, 3, 4)),
                        sh_list_at(sh_split(x, 1), 1),
                        sh_list_at(sh_chunk(x, 3, .dim = 1), 2)};
    sh_zeros(SH_SIZES(2, 3, 4), .dtype = SH_I64, .out = x);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        cr_expect(sh_tensor_same_storage(x, all[i]), "view %zu", i);
        for (int64_t k = 0; k < sh_tensor_numel(all[i]); k++)
            cr_expect(eq(i64, *(const int64_t *)sample_element(all[i], k), 0), "view %zu", i);
    }
}

Test(views, a_view_outlives_the_tensor_it_was_made_from) {
    sh_tensor *row = NULL;
    SH_SCOPE {
        SH_SCOPE { row = sh_keep(sh_select(sh_ones(SH_SIZES(3, 1000)), 0, 2)); }
    }
    cr_expect(eq(dbl, sh_tensor_at(row, (const int64_t[]){999}), 1.0));
    sh_release(row);
}

Test(views, what_needs_no_new_tensor_gives_self) {
    const int64_t live = sh_memory_stats_get().live_tensors;
    SH_SCOPE {
        sh_tensor *x = sh_rand(SH_SIZES(2, 3)), *v = sh_rand(SH_SIZES(4));
        cr_expect(eq(ptr, sh_contiguous(x), x));
        cr_expect(eq(ptr, sh_flatten(v), v));
        cr_expect(eq(int, sh_tensor_refs(x), 2));
        cr_expect(ne(ptr, sh_contiguous(sh_transpose(x, 0, 1)), x));
    }
    cr_expect(eq(i64, sh_memory_stats_get().live_tensors, live));
}

static sh_status watch(sh_mode *mode, sh_call *call) {
    (void)mode;
    (void)call;
    return SH_PASS;
}

Test(views, a_result_that_is_an_argument_keeps_its_count_under_modes) {
    const int64_t live = sh_memory_stats_get().live_tensors;
    SH_SCOPE {
        sh_tensor *x = sh_keep(sh_rand(SH_SIZES(2, 3)));
        SH_SCOPE {
            SH_WITH_MODE(watch) cr_expect(eq(ptr, sh_contiguous(x), x));
            cr_expect(eq(int, sh_tensor_refs(x), 3));
        }
        cr_expect(eq(int, sh_tensor_refs(x), 2));
        sh_release(x);
    }
    cr_expect(eq(i64, sh_memory_stats_get().live_tensors, live));
}

Test(views, reshape_copies_where_no_strides_fit) {
    sh_tensor *x = sh_transpose(sh_reshape(sh_arange(6), SH_SIZES(2, 3)), 0, 1);
    sh_tensor *flat = sh_reshape(x, SH_SIZES(6));
    cr_expect(not(sh_tensor_same_storage(x, flat)));
    cr_expect(eq(dbl, sh_tensor_at(flat, (const int64_t[]){1}), 3.0));
    cr_expect(eq(ptr, sh_view(x, SH_SIZES(6)), NULL));
    cr_expect(eq(int, sh_error()->code, SH_ERROR_SHAPE));
}

/* ---- refusals ---- */

static void refused(const sh_tensor *result, sh_status code, const char *part) {
    cr_expect(result == NULL, "%s", part);
    cr_assert(sh_error() != NULL, "%s", part);
    cr_expect(eq(int, sh_error()->code, code), "%s", sh_error()->message);
    cr_expect(strstr(sh_error()->message, part) != NULL, "'%s' is not in '%s'", part, sh_error()->message);
    sh_clear_error();
}

Test(views, a_refusal_names_the_op_and_what_was_wrong) {
    sh_tensor *x = sh_rand(SH_SIZES(2, 3)), *deep = sh_rand(SH_SIZES(1, 1, 1, 1, 1, 1, 1, 1));
    refused(sh_transpose(x, 0, 2), SH_ERROR_INDEX,
            "transpose: dim is 2, of a tensor with 2 dimensions; expected -2 to 1");
    refused(sh_reshape(x, SH_SIZES(4, -1)), SH_ERROR_SHAPE,
            "reshape: self is [2, 3] and the new shape [4, -1]");
    refused(sh_reshape(x, SH_SIZES(-1, -1)), SH_ERROR_SHAPE, "only one size");
    refused(sh_reshape(x, SH_SIZES(INT64_C(1) << 40, INT64_C(1) << 40)), SH_ERROR_SHAPE, "reshape");
    refused(sh_reshape(x, SH_SIZES(1, 1, 1, 1, 1, 1, 1, 1, 6)), SH_ERROR_SHAPE,
            "9 dimensions, the most is 8");
    refused(sh_expand(x, SH_SIZES(2, 4)), SH_ERROR_SHAPE,
            "expand: self is [2, 3] and size is [2, 4]: only a dimension of size 1");
    refused(sh_expand(sh_rand(SH_SIZES(1)), SH_SIZES(INT64_C(1) << 40, INT64_C(1) << 40)), SH_ERROR_SHAPE,
            "expand");
    refused(sh_permute(x, SH_SIZES(0, 0)), SH_ERROR_VALUE, "permute: dims names dimension 0 twice");
    refused(sh_unsqueeze(deep, 0), SH_ERROR_SHAPE, "unsqueeze");
    refused(sh_stack(SH_LIST(deep, deep)), SH_ERROR_SHAPE, "stack");
    refused(sh_select(x, 1, 3), SH_ERROR_INDEX, "select: index 3 is out of range for dimension 1 of size 3");
    refused(sh_narrow(x, 1, 2, 2), SH_ERROR_INDEX, "narrow: start 2 and length 2");
    refused(sh_slice(x, .step = 0), SH_ERROR_VALUE, "slice: step is 0");
    refused(sh_list_at(sh_chunk(x, 0), 0), SH_ERROR_VALUE, "chunk: chunks is 0");
    refused(sh_list_at(sh_split_sizes(x, SH_SIZES(1, 2)), 0), SH_ERROR_SHAPE, "split.sizes");
    refused(sh_list_at(sh_chunk(sh_rand(SH_SIZES(0)), INT64_MAX), 0), SH_ERROR_VALUE, "longer than a list");
    refused(sh_cat(SH_LIST(x, sh_rand(SH_SIZES(3)))), SH_ERROR_SHAPE,
            "cat: tensor 1 is [3], the first is [2, 3]");
    refused(sh_cat(sh_tensors_of(NULL, 0)), SH_ERROR_VALUE, "cat: the list of tensors is empty");
    refused(sh_index_select(x, 0, SH_INT64S(0, 2)), SH_ERROR_INDEX,
            "index_select: index[1] is 2, expected 0 to 1");
    refused(sh_masked_fill(x, x, 1.0), SH_ERROR_DTYPE, "masked_fill: mask is f32, expected bool");
    refused(sh_masked_fill(sh_ones(SH_SIZES(2), .dtype = SH_U8), sh_ones(SH_SIZES(2), .dtype = SH_B8), 300),
            SH_ERROR_VALUE, "masked_fill: value is 300, which u8 can't hold");
    refused(sh_tril(sh_rand(SH_SIZES(3))), SH_ERROR_SHAPE, "tril: self has 1 dimensions");
    refused(sh_nonzero(sh_tensor_new_on(SH_META, SH_F32, SH_SIZES(2))), SH_ERROR_DEVICE, "depends on data");
}

/* ---- moving data ---- */

Test(views, parts_join_to_what_they_were_split_from) {
    for (int round = 0; round < 500; round++) {
        SH_SCOPE {
            int64_t sizes[SH_MAX_DIMS];
            const int ndim = (int)sample_int(1, 4);
            sample_sizes(ndim, 6, sizes);
            sh_tensor *x = sample_tensor(sample_dtype(), ndim, sizes);
            const int64_t dim = any_dim(ndim), size = sizes[wrap(dim, ndim)];
            sh_list *parts = sample_int(0, 1) ? sh_split(x, sample_int(1, 4), .dim = dim)
                                              : sh_chunk(x, sample_int(1, 8), .dim = dim);
            cr_assert(sample_same(sh_cat(sh_list_view(parts), .dim = dim), sh_contiguous(x)));
            sh_tensor *slabs[8];
            for (int64_t i = 0; i < size; i++) slabs[i] = sh_select(x, dim, i);
            if (size)
                cr_assert(sample_same(sh_stack(sh_tensors_of(slabs, (size_t)size), .dim = dim), sh_clone(x)));
        }
    }
}

static sh_tensor *joined(int64_t *sizes, int ndim, bool stacks) {
    sh_tensor *parts[4];
    const int64_t n = sample_int(1, 4), dim = any_dim(ndim + stacks);
    for (int64_t i = 0; i < n; i++) {
        if (!stacks) sizes[wrap(dim, ndim)] = sample_int(0, 3);
        parts[i] = sample_tensor(sample_int(0, 2) ? SH_F32 : sample_dtype(), ndim, sizes);
    }
    if (!stacks && sample_int(0, 9) == 0) parts[n - 1] = sh_rand(SH_SIZES(0));
    const sh_tensors list = {parts, (size_t)n};
    return stacks ? sh_stack(list, .dim = dim) : sh_cat(list, .dim = dim);
}

static sh_tensor *picked(sh_tensor *x) {
    const int64_t dim = any_dim(sh_tensor_ndim(x)), size = sh_tensor_size(x, (int)dim), n = sample_int(0, 5);
    sh_tensor *index = sh_tensor_new(sample_int(0, 1) ? SH_I64 : SH_I32, SH_SIZES(size ? n : 0));
    for (int64_t i = 0; i < sh_tensor_numel(index); i++) {
        if (sh_tensor_dtype(index) == SH_I64)
            ((int64_t *)sh_tensor_data(index))[i] = sample_int(0, size - 1);
        else
            ((int32_t *)sh_tensor_data(index))[i] = (int32_t)sample_int(0, size - 1);
    }
    return sh_index_select(x, dim, index);
}

/* A mask that broadcasts against the sizes, with fewer dimensions or some of size 1. */
static sh_tensor *masked(sh_tensor *x) {
    int64_t sizes[SH_MAX_DIMS];
    const int drop = (int)sample_int(0, sh_tensor_ndim(x)), n = sh_tensor_ndim(x) - drop;
    for (int i = 0; i < n; i++) sizes[i] = sample_int(0, 2) ? sh_tensor_sizes(x)[i + drop] : 1;
    sh_tensor *mask = sample_tensor(SH_B8, n, sizes);
    if (!sample_int(0, 1)) return sh_masked_fill(x, mask, 2);
    sh_tensor *copy = sh_clone(x);
    return sh_masked_fill_(sample_int(0, 1) ? copy : sh_transpose(sh_clone(sh_transpose(x, 0, -1)), 0, -1),
                           mask, true);
}

static sh_tensor *triangle(sh_tensor *x) {
    const int64_t diagonal = sample_int(0, 20) ? sample_int(-5, 5) : sample_int(0, 1) ? INT64_MAX : INT64_MIN;
    if (sh_tensor_ndim(x) < 2) return x;
    if (sample_int(0, 2) == 0)
        return sh_tril_(sh_transpose(sh_clone(sh_transpose(x, 0, -1)), 0, -1), .diagonal = diagonal);
    return sample_int(0, 1) ? sh_tril(x, .diagonal = diagonal) : sh_triu(x, .diagonal = diagonal);
}

static sh_tensor *moved(int what) {
    int64_t sizes[SH_MAX_DIMS];
    const int ndim = (int)sample_int(1, 4);
    sample_sizes(ndim, 5, sizes);
    if (what < 2) return joined(sizes, ndim, what == 1);
    sh_tensor *x = sample_tensor(sample_dtype(), ndim, sizes);
    switch (what) {
    case 2: return picked(x);
    case 3: return masked(x);
    case 4: return triangle(x);
    default: return sh_clone(x);
    }
}

Test(views, cpu_moves_every_bit_as_ref_does) {
    for (int round = 0; round < 6000; round++) {
        SH_SCOPE {
            const uint64_t state = sample_state;
            const int what = round % 6;
            sh_tensor *fast = moved(what), *plain = NULL;
            cr_assert(fast != NULL, "op %d: %s", what, sh_error() ? sh_error()->message : "");
            sample_state = state;
            SH_WITH_BACKEND("ref") plain = moved(what);
            cr_assert(sample_same(fast, plain), "op %d, round %d", what, round);
        }
    }
}

Test(views, nonzero_lists_the_indices_in_row_major_order) {
    for (int round = 0; round < 300; round++) {
        SH_SCOPE {
            int64_t sizes[SH_MAX_DIMS], found = 0;
            const int ndim = (int)sample_int(1, 4);
            sample_sizes(ndim, 4, sizes);
            sh_tensor *x = sample_tensor(sample_dtype(), ndim, sizes), *indices = sh_nonzero(x);
            for (int64_t i = 0; i < sh_tensor_numel(x); i++) {
                int64_t index[SH_MAX_DIMS], rest = i;
                for (int d = ndim; d-- > 0; rest /= sizes[d]) index[d] = rest % sizes[d];
                if (sh_tensor_at(x, index) == 0) continue;
                for (int d = 0; d < ndim; d++)
                    cr_assert(eq(i64, ((int64_t *)sh_tensor_data(indices))[found * ndim + d], index[d]));
                found++;
            }
            cr_assert(eq(i64, sh_tensor_size(indices, 0), found));
        }
    }
}

Test(views, long_runs_and_short_ones_join_alike) {
    sh_tensor *a = sh_arange(70000), *b = sh_arange_start(5, 70005);
    sh_tensor *pairs = sh_stack(SH_LIST(a, b), .dim = 1), *rows = sh_stack(SH_LIST(a, b));
    cr_expect(sample_same(sh_contiguous(sh_transpose(pairs, 0, 1)), rows));
    cr_expect(sample_same(sh_reshape(rows, SH_SIZES(-1)), sh_cat(SH_LIST(a, b))));
}

/* UBSan watches. */
Test(views, an_empty_tensor_may_have_sizes_whose_product_is_no_number) {
    const int64_t huge = (int64_t)1 << 40;
    sh_tensor *t = sh_empty(SH_SIZES(huge, huge, 0));
    cr_assert(eq(i64, sh_tensor_numel(sh_permute(t, SH_SIZES(2, 0, 1))), 0));
    cr_assert(eq(i64, sh_tensor_numel(sh_reshape(t, SH_SIZES(0, huge, huge, huge))), 0));
    cr_assert(eq(i64, sh_tensor_sizes(sh_flatten(t))[0], 0));
    cr_assert(eq(i64, sh_tensor_numel(sh_narrow(t, 0, 1, 5)), 0));
    cr_assert(sh_allclose(t, t));
    cr_assert(eq(ptr, sh_flatten(t, .end_dim = 1), NULL));
    cr_assert(ne(ptr, TEXT(strstr(sh_error()->message, "flatten: the sizes from 0 to 1 multiply")), NULL));
    sh_clear_error();
}
