/* Calls the op of a golden line and compares what comes back.
 *
 * Checked: dtype, sizes, values within TOLERANCES, which results share storage with an argument and with what
 * strides, that in-place and out forms return the tensor they were given, and that nothing else was
 * written: not another argument, not the storage around a strided target. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "shunt.h"
#include "tests/golden.h"

/* How far a value may be from torch's. `ulps` in units of the last place of the golden value; `slack` in f32's
 * epsilon (f64's for f64) of the largest golden value or 1, for sums whose terms may cancel. What is not listed is
 * exact: movement, comparison, integers, single IEEE operations.
 *
 * The bounds are near what is there: torch's functions (SLEEF) are off by up to 1 ulp, ours by up to 2, torch's
 * half types are rounded on the way, its gelu cancels in its tail. */
static const struct tolerance {
    const char *ops; /* families, each between blanks */
    double ulps, slack;
} TOLERANCES[] = {
    {" exp expm1 exp2 log log1p log2 log10 rsqrt sin cos tan asin acos atan sinh cosh tanh erf erfc sigmoid atan2 ",
     3, 0},
    {" add sub div remainder fmod floor_divide reciprocal ", 1, 0},
    {" pow softplus hardsigmoid hardswish leaky_relu ", 2, 0},
    {" lerp linspace elu silu gelu ", 2, 1},
    {" softmax log_softmax logsumexp ", 4, 2},
    {" sum mean prod var std norm cumsum ", 2, 8},
    {" matmul mm bmm mv dot addmm linear conv1d conv2d ", 1, 64},
    {" avg_pool2d adaptive_avg_pool2d batch_norm layer_norm ", 2, 4},
};

/* Refusals that depend on data, which a meta tensor has none of. */
static const char *const DATA_REFUSALS[] = {"ZeroDivisionError",  "index out of range in self",
                                            "without overflow",   "unsupported operation",
                                            "self indexing axis", "an entry is no part of a grid"};

/* ---- values ---- */

static int64_t element_offset(const sh_tensor *t, int64_t i) {
    int64_t offset = 0;
    for (int d = sh_tensor_ndim(t); d-- > 0;) {
        const int64_t size = sh_tensor_sizes(t)[d];
        offset += i % size * sh_tensor_strides(t)[d];
        i /= size;
    }
    return offset;
}

double golden_float_at(const sh_tensor *t, int64_t i) {
    const void *data = sh_tensor_data(t);
    const int64_t at = element_offset(t, i);
    switch (sh_tensor_dtype(t)) {
    case SH_F32: return ((const float *)data)[at];
    case SH_F64: return ((const double *)data)[at];
    case SH_F16: return sh_f16_to_f32(((const uint16_t *)data)[at]);
    case SH_BF16: return sh_bf16_to_f32(((const uint16_t *)data)[at]);
    default: return NAN;
    }
}

int64_t golden_int_at(const sh_tensor *t, int64_t i) {
    const void *data = sh_tensor_data(t);
    const int64_t at = element_offset(t, i);
    switch (sh_tensor_dtype(t)) {
    case SH_I64: return ((const int64_t *)data)[at];
    case SH_I32: return ((const int32_t *)data)[at];
    case SH_I16: return ((const int16_t *)data)[at];
    case SH_I8: return ((const int8_t *)data)[at];
    default: return ((const uint8_t *)data)[at];
    }
}

static bool is_float(sh_dtype dtype) { return sh_dtype_kind_of(dtype) == SH_KIND_FLOAT; }

/* The distance to the next number of this dtype away from 0. */
static double ulp(sh_dtype dtype, double value) {
    static const int digits[] = {[SH_F32] = 24, [SH_F64] = 53, [SH_F16] = 11, [SH_BF16] = 8};
    static const int lowest[] = {[SH_F32] = -149, [SH_F64] = -1074, [SH_F16] = -24, [SH_BF16] = -133};
    int exponent;
    frexp(value, &exponent);
    exponent -= digits[dtype];
    return ldexp(1, value == 0 || exponent < lowest[dtype] ? lowest[dtype] : exponent);
}

/* The family of an op's name: "max" of "max.dim", "add" of "add_". */
static void family_of(const char *op, char *family, size_t size) {
    size_t n = strcspn(op, ".");
    if (n > 0 && op[n - 1] == '_') n--;
    snprintf(family, size, " %.*s ", (int)n, op);
}

static const struct tolerance *tolerance_of(const char *op) {
    static const struct tolerance exact = {"", 0, 0};
    char family[80];
    family_of(op, family, sizeof family);
    for (size_t i = 0; i < sizeof TOLERANCES / sizeof *TOLERANCES; i++)
        if (strstr(TOLERANCES[i].ops, family)) return &TOLERANCES[i];
    return &exact;
}

/* The input that the call writes: the first of an in-place form, `out` of any other; -1 for none. */
static int target_of(const golden_case *c) {
    const size_t n = strcspn(c->op, ".");
    if (n > 0 && c->op[n - 1] == '_') return 0;
    for (size_t i = 0; i < c->narguments; i++) {
        if (!c->arguments[i].name || strcmp(c->arguments[i].name, "out") != 0) continue;
        for (size_t k = 0; k < c->ninputs; k++)
            if (c->inputs[k].view == c->arguments[i].value.as.tensor) return (int)k;
    }
    return -1;
}

/* The dtype that an op computed a result in: a target may be wider than that. */
static sh_dtype computed_in(const golden_case *c, sh_dtype result) {
    sh_dtype narrowest = result;
    for (size_t i = 0; target_of(c) >= 0 && i < c->ninputs; i++) {
        const sh_dtype dtype = sh_tensor_dtype(c->inputs[i].view);
        if (is_float(dtype) && sh_dtype_size(dtype) < sh_dtype_size(narrowest)) narrowest = dtype;
    }
    return narrowest;
}

static bool near(sh_dtype dtype, double got, double expected, const struct tolerance *tolerance,
                 double scale) {
    if (isnan(expected) || isnan(got)) return isnan(expected) && isnan(got);
    if (got == expected) return true;
    if (isinf(expected) || isinf(got)) return false;
    const double epsilon = dtype == SH_F64 ? 0x1p-52 : 0x1p-23;
    const double allowed = tolerance->ulps * ulp(dtype, expected) + tolerance->slack * epsilon * scale;
    return fabs(got - expected) <= allowed;
}

/* The size that rounding errors of a whole result are measured by. */
static double scale_of(const sh_tensor *expected) {
    double largest = 1;
    for (int64_t i = 0; i < sh_tensor_numel(expected); i++) {
        const double value = fabs(golden_float_at(expected, i));
        if (isfinite(value) && value > largest) largest = value;
    }
    return largest;
}

static bool compare_floats(const golden_case *c, const sh_tensor *expected, const sh_tensor *got,
                           char *report, size_t size) {
    const sh_dtype dtype = computed_in(c, sh_tensor_dtype(got));
    const struct tolerance *tolerance = tolerance_of(c->op);
    const double scale = scale_of(expected);
    for (int64_t i = 0; i < sh_tensor_numel(got); i++) {
        const double wanted = golden_float_at(expected, i), value = golden_float_at(got, i);
        if (near(dtype, value, wanted, tolerance, scale)) continue;
        snprintf(report, size, "element %lld is %.9g, not %.9g (off by %.3g ulp)", (long long)i, value,
                 wanted, fabs(value - wanted) / ulp(dtype, wanted));
        return false;
    }
    return true;
}

static bool compare_ints(const sh_tensor *expected, const sh_tensor *got, char *report, size_t size) {
    for (int64_t i = 0; i < sh_tensor_numel(got); i++) {
        const int64_t wanted = golden_int_at(expected, i), value = golden_int_at(got, i);
        if (value == wanted) continue;
        snprintf(report, size, "element %lld is %lld, not %lld", (long long)i, (long long)value,
                 (long long)wanted);
        return false;
    }
    return true;
}

/* ---- one tensor ---- */

static void print_ints(const int64_t *ints, int n, char *text, size_t size) {
    int length = snprintf(text, size, "[");
    for (int i = 0; i < n; i++)
        length += snprintf(text + length, size - (size_t)length, i ? ",%lld" : "%lld", (long long)ints[i]);
    snprintf(text + length, size - (size_t)length, "]");
}

static bool compare_spec(const golden_result *r, const sh_tensor *got, char *report, size_t size) {
    const size_t bytes = (size_t)r->spec.ndim * sizeof *r->spec.sizes;
    if (sh_tensor_dtype(got) == r->spec.dtype && sh_tensor_ndim(got) == r->spec.ndim &&
        memcmp(sh_tensor_sizes(got), r->spec.sizes, bytes) == 0)
        return true;
    char is[200], wanted[200];
    print_ints(sh_tensor_sizes(got), sh_tensor_ndim(got), is, sizeof is);
    print_ints(r->spec.sizes, r->spec.ndim, wanted, sizeof wanted);
    snprintf(report, size, "it is %s%s, not %s%s", sh_dtype_name(sh_tensor_dtype(got)), is,
             sh_dtype_name(r->spec.dtype), wanted);
    return false;
}

static bool compare_values(const golden_case *c, const sh_tensor *expected, const sh_tensor *got,
                           char *report, size_t size) {
    return is_float(sh_tensor_dtype(got)) ? compare_floats(c, expected, got, report, size)
                                          : compare_ints(expected, got, report, size);
}

/* The golden values as a tensor on the host; NULL without memory. */
static sh_tensor *tensor_of(const golden_result *r) {
    sh_tensor *t = sh_tensor_new(r->spec.dtype, (sh_ints){r->spec.sizes, (size_t)r->spec.ndim});
    if (t) golden_read(t, r->values);
    return t;
}

static bool compare(const golden_case *c, const golden_result *r, const sh_tensor *got, char *report,
                    size_t size) {
    if (!got) return snprintf(report, size, "there is no result"), false;
    if (!compare_spec(r, got, report, size)) return false;
    if (!r->is_defined || sh_tensor_device(got) != SH_HOST) return true;
    return compare_values(c, tensor_of(r), got, report, size);
}

/* ---- storage ---- */

static size_t storage_bytes(const sh_tensor *storage) {
    return (size_t)sh_tensor_numel(storage) * sh_dtype_size(sh_tensor_dtype(storage));
}

/* The first input with the storage of input i. */
static golden_input *owner(golden_case *c, size_t i) {
    size_t k = 0;
    while (c->inputs[k].storage != c->inputs[i].storage) k++;
    return &c->inputs[k];
}

static void remember_storages(golden_case *c) {
    for (size_t i = 0; i < c->ninputs; i++) {
        golden_input *input = &c->inputs[i];
        const size_t bytes = storage_bytes(input->storage);
        if (owner(c, i) != input || bytes == 0) continue;
        input->before = malloc(bytes);
        if (input->before) memcpy(input->before, sh_tensor_data(input->storage), bytes);
    }
}

static void forget_storages(golden_case *c) {
    for (size_t i = 0; i < c->ninputs; i++) {
        free(c->inputs[i].before);
        c->inputs[i].before = NULL;
    }
}

/* Puts the old bytes back under a view that the call was to write. */
static void undo_write(golden_case *c, size_t i) {
    const sh_tensor *view = c->inputs[i].view, *storage = c->inputs[i].storage;
    const char *before = owner(c, i)->before;
    const size_t width = sh_dtype_size(sh_tensor_dtype(view));
    if (!before) return;
    const ptrdiff_t start = (char *)sh_tensor_data(view) - (char *)sh_tensor_data(storage);
    for (int64_t k = 0; k < sh_tensor_numel(view); k++) {
        const ptrdiff_t at = start + element_offset(view, k) * (ptrdiff_t)width;
        memcpy((char *)sh_tensor_data(storage) + at, before + at, width);
    }
}

static bool storages_unchanged(golden_case *c, char *report, size_t size) {
    for (size_t i = 0; i < c->ninputs; i++) {
        const golden_input *input = &c->inputs[i];
        if (!input->before ||
            memcmp(input->before, sh_tensor_data(input->storage), storage_bytes(input->storage)) == 0)
            continue;
        snprintf(report, size, "the call wrote to storage that is not its to write: tensor %zu of the line",
                 i);
        return false;
    }
    return true;
}

/* ---- the call ---- */

static bool compare_strides(const golden_result *r, const sh_tensor *got) {
    if (sh_tensor_numel(got) == 0) return true;
    for (int d = 0; d < r->spec.ndim; d++)
        if (r->spec.sizes[d] > 1 && sh_tensor_strides(got)[d] != r->strides[d]) return false;
    return true;
}

/* A functional result is a view where torch's is, and only there. */
static bool check_sharing(const golden_case *c, const golden_result *r, const sh_tensor *got, char *report,
                          size_t size) {
    bool shares = false;
    for (size_t i = 0; i < c->ninputs; i++)
        shares = shares || sh_tensor_same_storage(c->inputs[i].storage, got);
    if (sh_tensor_numel(got) == 0 || shares == r->is_view) {
        if (!r->is_view || compare_strides(r, got)) return true;
        char is[200];
        print_ints(sh_tensor_strides(got), sh_tensor_ndim(got), is, sizeof is);
        snprintf(report, size, "the view has strides %s", is);
        return false;
    }
    snprintf(report, size, r->is_view ? "it is a copy, not a view" : "it is a view, not a copy");
    return false;
}

static sh_tensor *result_at(const golden_case *c, const sh_value *results, size_t k) {
    if (!c->is_list) return sh_value_as_tensor(results[k]);
    const sh_tensors list = sh_value_as_tensors(results[0]);
    return k < list.n ? list.at[k] : NULL;
}

static bool check_results(golden_case *c, const sh_value *results, char *report, size_t size) {
    const int target = target_of(c);
    for (size_t k = 0; k < c->nresults; k++) {
        const golden_result *r = &c->results[k];
        const sh_tensor *got = r->after >= 0 ? c->inputs[r->after].view : result_at(c, results, k);
        if (!compare(c, r, got, report, size)) return false;
        if (c->device == SH_HOST && target < 0 && r->after < 0 && !check_sharing(c, r, got, report, size))
            return false;
        if (c->device == SH_HOST && r->after >= 0) undo_write(c, (size_t)r->after);
    }
    if (target >= 0 && result_at(c, results, 0) != c->inputs[target].view)
        return snprintf(report, size, "it does not return the tensor that it was given to write"), false;
    if (target >= 0 && c->device == SH_HOST) undo_write(c, (size_t)target);
    return c->device != SH_HOST || storages_unchanged(c, report, size);
}

static bool depends_on_data(const char *refusal) {
    for (size_t i = 0; i < sizeof DATA_REFUSALS / sizeof *DATA_REFUSALS; i++)
        if (strstr(refusal, DATA_REFUSALS[i])) return true;
    return false;
}

/* torch refused the call: so must we, with a message, and without touching anything. */
static bool check_refusal(golden_case *c, sh_status status, char *report, size_t size) {
    const sh_error_info *error = sh_error();
    if (status >= 0)
        return (c->device != SH_HOST && depends_on_data(c->refusal)) ||
               (snprintf(report, size, "no error"), false);
    if (!error || !*error->message) return snprintf(report, size, "an error without a message"), false;
    return c->device != SH_HOST || storages_unchanged(c, report, size);
}

/* Compares with what `ref` gives for the same arguments. */
static bool check_reference(golden_case *c, const sh_value *results, char *report, size_t size) {
    sh_value expected[SH_MAX_RESULTS] = {{0, 0, {0}}};
    sh_status status = SH_OK;
    if (c->device != SH_HOST) return true;
    SH_WITH_BACKEND("ref") status = sh_call_by_name(c->op, c->arguments, c->narguments, expected);
    if (status < 0) return snprintf(report, size, "ref: %s", sh_error()->message), false;
    for (size_t k = 0; k < SH_MAX_RESULTS && expected[k].tag == SH_TAG_TENSOR; k++) {
        const sh_tensor *wanted = expected[k].as.tensor, *got = sh_value_as_tensor(results[k]);
        golden_result r = {.after = -1};
        r.spec = (sh_spec){.dtype = sh_tensor_dtype(wanted), .ndim = sh_tensor_ndim(wanted)};
        memcpy(r.spec.sizes, sh_tensor_sizes(wanted), (size_t)r.spec.ndim * sizeof *r.spec.sizes);
        if (!compare(c, &r, got, report, size) || !compare_values(c, wanted, got, report, size)) return false;
    }
    return true;
}

static bool check_call(golden_case *c, sh_status status, const sh_value *results, char *report, size_t size) {
    if (c->refusal) return check_refusal(c, status, report, size);
    if (status < 0)
        return snprintf(report, size, "error: %s", sh_error() ? sh_error()->message : "none set"), false;
    return c->by_reference ? check_reference(c, results, report, size)
                           : check_results(c, results, report, size);
}

/* ---- the call as a plan ---- */

static sh_tensor *replaced(const golden_case *c, sh_values in, sh_tensor *t) {
    for (size_t i = 0; i < c->ninputs; i++)
        if (c->inputs[i].view == t) return in.at[i].as.tensor;
    return t;
}

/* The call of the line on the tensors that it is given; several results are a list. */
static sh_value forward(sh_values in, void *user) {
    golden_case *c = user;
    sh_argument arguments[SH_MAX_ARGS];
    sh_tensor *lists[GOLDEN_TENSORS * SH_MAX_ARGS], *several[SH_MAX_RESULTS];
    sh_value results[SH_MAX_RESULTS] = {{0, 0, {0}}};
    size_t used = 0, n = 0;
    for (size_t i = 0; i < c->narguments; i++) {
        arguments[i] = c->arguments[i];
        sh_value *v = &arguments[i].value;
        if (v->tag == SH_TAG_TENSOR) v->as.tensor = replaced(c, in, v->as.tensor);
        if (v->tag != SH_TAG_TENSORS) continue;
        for (uint32_t k = 0; k < v->count; k++) lists[used + k] = replaced(c, in, v->as.tensors[k]);
        v->as.tensors = lists + used;
        used += v->count;
    }
    if (sh_call_by_name(c->op, arguments, c->narguments, results) < 0) return sh_none();
    while (n < SH_MAX_RESULTS && results[n].tag == SH_TAG_TENSOR) {
        several[n] = results[n].as.tensor;
        n++;
    }
    return n > 1 ? sh_list_value((sh_tensors){several, n}) : results[0];
}

static sh_status run_compiled(golden_case *c, sh_value *results) {
    sh_value inputs[GOLDEN_TENSORS];
    for (size_t i = 0; i < c->ninputs; i++) inputs[i] = sh_value_tensor(c->inputs[i].view);
    sh_compiled *compiled = sh_compile_function(forward, c, c->compile);
    results[0] = sh_compiled_call(compiled, (sh_values){inputs, c->ninputs});
    sh_compiled_free(compiled);
    const sh_tensors list = sh_value_as_tensors(results[0]);
    for (size_t k = 0; !c->is_list && k < list.n && k < SH_MAX_RESULTS; k++)
        results[k] = sh_value_tensor(list.at[k]);
    return sh_error() ? sh_error()->code : SH_OK;
}

bool golden_run(golden_case *c, char *report, size_t size) {
    sh_value results[SH_MAX_RESULTS] = {{0, 0, {0}}};
    if (c->device == SH_HOST) remember_storages(c);
    const sh_status status =
        c->compile ? run_compiled(c, results) : sh_call_by_name(c->op, c->arguments, c->narguments, results);
    const bool good = check_call(c, status, results, report, size);
    sh_clear_error();
    forget_storages(c);
    return good;
}
