/* sample.c - arguments for an op of which nothing but the schema is known.
 *
 * Shapes are drawn so that they often fit: one rank and one shape for all, or a matrix product's, or each of its own, sizes
 * from a small set. What the op refuses is drawn again; it is asked without data where it can be. */
#include <string.h>

#include "graph/check/impl.h"
#include "ops/element.h"

enum { TRIES = 400 };

/* Steele, Lea and Flood's splitmix64. */
static uint64_t bits(sh_sampler *s) {
    uint64_t z = s->state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

static int64_t pick(sh_sampler *s, int64_t low, int64_t high) {
    return low + (int64_t)(bits(s) % (uint64_t)(high - low + 1));
}

typedef struct plan {
    int ndim;
    int64_t sizes[SH_MAX_DIMS];
    bool one_shape;
    sh_dtype dtype;
} plan;

static void draw_plan(sh_sampler *s, plan *p) {
    static const int64_t choices[] = {1, 2, 3, 4, 4, 4, 6};
    p->ndim = (int)pick(s, 1, 4);
    p->one_shape = pick(s, 0, 2) != 0;
    const bool square = pick(s, 0, 1);
    for (int i = 0; i < p->ndim; i++) p->sizes[i] = square && i ? p->sizes[0] : choices[pick(s, 0, 6)];
    static const sh_dtype dtypes[] = {SH_F32, SH_F32, SH_F32, SH_F32, SH_F64, SH_I64, SH_I8, SH_U8};
    p->dtype = dtypes[pick(s, 0, 7)];
}

static void fill(sh_sampler *s, sh_tensor *t, int64_t most) {
    SH_EACH_ELEMENT(t, index) {
        const bool floats = sh_dtype_kind_of((sh_dtype)t->dtype) == SH_KIND_FLOAT;
        const double v = floats ? (double)pick(s, 1, 4000) / 1000 - 1.5 : (double)pick(s, 0, most);
        sh_store_f64((sh_dtype)t->dtype, sh_element(t, index, t->ndim), v);
    }
}

/* Now and then an index, a mask, or a single value. */
static sh_tensor *draw_tensor(sh_sampler *s, const plan *p, uint32_t place) {
    int64_t sizes[SH_MAX_DIMS];
    int ndim = p->ndim;
    sh_dtype dtype = p->dtype;
    memcpy(sizes, p->sizes, sizeof sizes);
    if (place && !p->one_shape) {
        ndim = (int)pick(s, 1, p->ndim);
        for (int i = 0; i < ndim; i++) sizes[i] = p->sizes[pick(s, 0, p->ndim - 1)];
    }
    switch (pick(s, 0, 11)) {
    case 0: dtype = SH_I64; break;
    case 1: dtype = SH_B8; break;
    case 2: ndim = place ? 0 : ndim; break;
    default: break;
    }
    sh_tensor *t = sh_tensor_new(dtype, (sh_ints){sizes, (size_t)ndim});
    if (t) fill(s, t, dtype == SH_B8 ? 1 : 0);
    return t;
}

static sh_value draw_ints(sh_sampler *s, const plan *p, const sh_param *param, uint32_t place) {
    size_t n = param->length ? param->length : (size_t)pick(s, 1, p->ndim);
    const int64_t most = pick(s, 0, 2) ? 2 : 0, least = most ? 1 : 0;
    for (size_t i = 0; i < n; i++) s->ints[place][i] = pick(s, least, most + least);
    if (!param->length && pick(s, 0, 1)) {
        n = (size_t)p->ndim;
        memcpy(s->ints[place], p->sizes, n * sizeof *p->sizes);
    }
    return sh_value_ints((sh_ints){s->ints[place], n});
}

static sh_value draw_list(sh_sampler *s, const plan *p, uint32_t place) {
    const size_t n = (size_t)pick(s, 1, 3);
    for (size_t i = 0; i < n; i++) s->lists[place][i] = draw_tensor(s, p, 0);
    return sh_value_tensors((sh_tensors){s->lists[place], n});
}

static sh_value draw_value(sh_sampler *s, const plan *p, const sh_param *param, uint32_t place) {
    switch (param->type) {
    case SH_TYPE_TENSOR: return sh_value_tensor(draw_tensor(s, p, place));
    case SH_TYPE_TENSORS: return draw_list(s, p, place);
    case SH_TYPE_SCALAR:
    case SH_TYPE_FLOAT: return sh_value_float((double)pick(s, 1, 8) / 8);
    case SH_TYPE_INT: return sh_value_int(pick(s, 0, pick(s, 0, 1) ? 3 : p->ndim - 1));
    case SH_TYPE_INTS: return draw_ints(s, p, param, place);
    case SH_TYPE_FLAG: return sh_value_flag(pick(s, 0, 1));
    case SH_TYPE_DTYPE: return sh_value_dtype((sh_dtype)pick(s, SH_F32, SH_B8));
    default: return sh_none();
    }
}

/* Defaults stay now and then, those that are strings always: there is no guessing at words. */
static bool draw(sh_sampler *s, const sh_schema *schema) {
    plan p;
    draw_plan(s, &p);
    s->n = 0;
    for (uint32_t i = 0; i < schema->nparams; i++) {
        const sh_param *param = &schema->params[i];
        if (param->has_default && (param->type == SH_TYPE_STRING || pick(s, 0, 2))) continue;
        if (param->type == SH_TYPE_STRING) return false;
        const sh_value v = draw_value(s, &p, param, i);
        if (v.tag == SH_TAG_NONE && !param->optional) return false;
        s->arguments[s->n++] = (sh_argument){param->name, v};
    }
    return !sh__error_pending();
}

/* On copies, since an op may write. */
static bool is_taken(const sh_op *op, const sh_sampler *s) {
    const sh_op_check_options none = {0};
    const sh_trial t = {.op = op, .schema = sh_op_schema(op), .o = none, .sample = {s->arguments, s->n}};
    const sh_shaping rows = {.layout = SH_LAYOUT_ROWS}, meta = {.layout = SH_LAYOUT_META};
    sh_outcome outcome;
    bool taken = true;
    SH_SCOPE {
        if (sh__trial_infers(&t) && sh__trial_run_on(&t, &meta, NULL, &outcome) < 0)
            taken = sh_error()->code == SH_ERROR_UNSUPPORTED || sh_error()->code == SH_ERROR_KERNEL ||
                    sh_error()->code == SH_ERROR_DEVICE;
        if (taken) {
            if (sh__error_pending()) sh_clear_error();
            taken = sh__trial_run_on(&t, &rows, NULL, &outcome) >= 0;
        }
    }
    return taken;
}

bool sh__sample_draw(sh_sampler *s, const sh_op *op) {
    const sh_schema *schema = sh_op_schema(op);
    for (int i = 0; i < TRIES; i++) {
        if (draw(s, schema) && is_taken(op, s)) return true;
        if (!sh__error_pending()) continue;
        if (sh_error()->code == SH_ERROR_MEMORY) return false;
        sh_clear_error();
    }
    return false;
}
