/* nancheck.c - the nancheck mode: the first NaN (and by option Inf), where it was born, and from what.
 *
 * After every call the floating results are scanned, but for those that carry only what was scanned before and can't have
 * changed since (carry.h). A bad value with good inputs was born here; with a bad input it arrived, and only the first
 * arrival is told, since everything after it merely passes it on. */
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>

#include "dispatch/device_impl.h"
#include "dispatch/finding.h"
#include "dispatch/memory_impl.h"
#include "dispatch/site.h"
#include "dispatch/tensor_impl.h"
#include "dispatch/where.h"
#include "modes/carry.h"
#include "modes/options.h"
#include "modes/reason.h"
#include "modes/scan.h"
#include "ops/element.h"
#include "ops/ops.h"

const sh_option sh__nancheck_options[] = {
    {"inf", SH_OPTION_FLAG, "0", NULL, "look for Inf too"},
    {"stop", SH_OPTION_CHOICE, "error", "error|trap|warn",
     "what a finding does: fail the call, raise SIGTRAP, or go on"},
    {"out", SH_OPTION_STRING, NULL, NULL, "file to write, %p is the pid; default stderr"},
    {"level", SH_OPTION_CHOICE, "function", "function|dispatch",
     "dispatch also sees what composites are made of"},
    SH_WHERE_OPTIONS,
    {NULL, SH_OPTION_STRING, NULL, NULL, NULL},
};

typedef struct checker {
    sh_selection where;
    FILE *out;
    bool inf;
    enum { STOP_ERROR, STOP_TRAP, STOP_WARN } stop;
    atomic_bool arrived; /* an arrival was told */
} checker;

static const char *bad_name(double v) { return isnan(v) ? "NaN" : v > 0 ? "Inf" : "-Inf"; }

SH_PRINTF(3, 4) static void append(char *text, size_t size, const char *format, ...) {
    const size_t n = strlen(text);
    va_list list;
    va_start(list, format);
    vsnprintf(text + n, size - n, format, list);
    va_end(list);
}

static void put_index(char *text, size_t size, int ndim, const int64_t *index) {
    append(text, size, "[");
    for (int i = 0; i < ndim; i++) append(text, size, i ? ", %" PRId64 : "%" PRId64, index[i]);
    append(text, size, "]");
}

/* ---- the inputs ---- */

typedef struct input {
    const char *name;
    const sh_tensor *t;
    uint32_t place; /* in a list */
    bool in_list;
    bool overwritten; /* by the call: afterwards it shows what came out */
} input;

/* What is on a device is looked at on the host; what no copy could be made of shows nothing. */
static const sh_tensor *readable(const sh_tensor *t) {
    const sh_tensor *near = sh__is_remote(t) ? sh__on_host(t, "nancheck") : t;
    if (near) return near;
    sh_clear_error();
    return t;
}

static bool writes(const sh_call *call, const sh_schema *schema, uint32_t i) {
    const sh_tensor *t = sh_value_as_tensor(sh_call_arg(call, i));
    return schema->params[i].written || (t && t == sh_call_target(call));
}

/* Does the call write where t lies: t itself, or another view that begins there, as BLAS writes C = beta C + A B? */
static bool writes_over(const sh_call *call, const sh_schema *schema, const sh_tensor *t) {
    for (uint32_t i = 0; i < sh_call_nargs(call); i++) {
        const sh_tensor *w = writes(call, schema, i) ? sh_value_as_tensor(sh_call_arg(call, i)) : NULL;
        if (w && (w == t || (t->data && w->data == t->data))) return true;
    }
    return false;
}

/* Written but not read, by its name. */
static bool is_output(const sh_param *param) { return param->written && strncmp(param->name, "out", 3) == 0; }

static size_t collect_inputs(const sh_call *call, input *inputs, size_t capacity) {
    const sh_schema *schema = sh_call_schema(call);
    size_t n = 0;
    for (uint32_t i = 0; i < sh_call_nargs(call); i++) {
        const sh_value v = sh_call_arg(call, i);
        const char *name = schema->params[i].name;
        if (is_output(&schema->params[i])) continue;
        if (v.tag == SH_TAG_TENSOR && n < capacity)
            inputs[n++] =
                (input){name, readable(v.as.tensor), 0, false, writes_over(call, schema, v.as.tensor)};
        for (uint32_t k = 0; v.tag == SH_TAG_TENSORS && k < v.count && n < capacity; k++)
            if (v.as.tensors[k])
                inputs[n++] = (input){name, readable(v.as.tensors[k]), k, true, schema->params[i].written};
    }
    return n;
}

static bool broadcasts_to(const sh_tensor *t, const sh_tensor *result) {
    if (t->ndim > result->ndim || !t->data) return false;
    for (int i = 1; i <= t->ndim; i++)
        if (t->sizes[t->ndim - i] != 1 && t->sizes[t->ndim - i] != result->sizes[result->ndim - i])
            return false;
    return true;
}

/* For an elementwise op the value at the same index; for others the range. */
static void tell_inputs(sh_finding *f, const sh_call *call, const input *inputs, size_t n,
                        const sh_tensor *result, const int64_t *index, double out) {
    double values[8];
    size_t nvalues = 0;
    const bool pointwise = (sh_op_tags(sh_call_op_of(call)) & SH_OP_POINTWISE) != 0;
    bool unknown = false;
    for (size_t i = 0; i < n && i < 8; i++) {
        const sh_tensor *t = inputs[i].t;
        double low, high;
        append(f->inputs, sizeof f->inputs, i ? ", %s" : "%s", inputs[i].name);
        if (inputs[i].in_list) append(f->inputs, sizeof f->inputs, "[%u]", inputs[i].place);
        if (inputs[i].overwritten) {
            append(f->inputs, sizeof f->inputs, " (overwritten)");
            unknown = true;
        } else if (pointwise && broadcasts_to(t, result)) {
            values[nvalues++] = sh_load_shown((sh_dtype)t->dtype, sh_element(t, index, result->ndim));
            append(f->inputs, sizeof f->inputs, " = %.9g", values[nvalues - 1]);
        } else if (sh_scan_range(t, &low, &high)) {
            append(f->inputs, sizeof f->inputs, " in %.6g..%.6g", low, high);
        }
    }
    const char *why = pointwise && nvalues && !unknown
                          ? sh_reason(sh_op_name(sh_op_by_id(sh_call_family(call))), values, nvalues, out)
                          : NULL;
    if (why) append(f->why, sizeof f->why, "%s", why);
}

/* A bad value in an input: where, and which. */
typedef struct bad_input {
    const input *in; /* NULL: none */
    int64_t at;
    double value;
} bad_input;

static bad_input find_bad(const checker *c, const input *inputs, size_t n, bool overwritten) {
    for (size_t i = 0; i < n; i++) {
        int64_t first = 0, index[SH_MAX_DIMS];
        const sh_tensor *t = inputs[i].t;
        if (inputs[i].overwritten != overwritten || !sh_scan_bad(t, c->inf, &first)) continue;
        sh_scan_index(t, first, index);
        return (bad_input){&inputs[i], first,
                           sh_load_shown((sh_dtype)t->dtype, sh_element(t, index, t->ndim))};
    }
    return (bad_input){NULL, 0, 0};
}

/* What is looked at before the call, since it will be written over. */
typedef struct before {
    bool bad;
    input in;
    int64_t at;
    double value;
} before;

static before look_before(const checker *c, const sh_call *call) {
    const sh_schema *schema = sh_call_schema(call);
    input inputs[64];
    bool any = false;
    for (uint32_t i = 0; i < sh_call_nargs(call); i++) any |= writes(call, schema, i);
    const size_t n = any ? collect_inputs(call, inputs, 64) : 0;
    const bad_input found = find_bad(c, inputs, n, true);
    before b = {.bad = found.in != NULL, .at = found.at, .value = found.value};
    if (found.in) b.in = *found.in;
    return b;
}

/* ---- a finding ---- */

static sh_finding_kind kind_of(double v) { return isnan(v) ? SH_FINDING_NAN : SH_FINDING_INF; }

static void tell_arrival(sh_finding *f, const input *in, int64_t at, double value) {
    int64_t index[SH_MAX_DIMS];
    f->kind = kind_of(value);
    sh_scan_index(in->t, at, index);
    append(f->what, sizeof f->what, "%s arrived in input %s of %s", bad_name(value), in->name,
           f->call[0] ? f->call : "a call");
    char *cut = strchr(f->what, '(');
    if (cut) *cut = 0;
    put_index(f->index, sizeof f->index, in->t->ndim, index);
    append(f->inputs, sizeof f->inputs, "%s", in->name);
    put_index(f->inputs, sizeof f->inputs, in->t->ndim, index);
    append(f->inputs, sizeof f->inputs, " = %s", bad_name(value));
    append(f->why, sizeof f->why, "it was there before this call: look at what made %s", in->name);
}

static void tell_place(sh_finding *f, const sh_call *call) {
    f->mode = "nancheck";
    sh_call_print(call, f->call, sizeof f->call);
    append(f->scope, sizeof f->scope, "%s", sh_scope_path());
    sh__call_site_text(call, f->site, sizeof f->site);
}

static void tell_birth(sh_finding *f, const sh_call *call, const input *inputs, size_t n,
                       const sh_tensor *result, int64_t first) {
    int64_t index[SH_MAX_DIMS];
    sh_scan_index(result, first, index);
    const double out = sh_load_shown((sh_dtype)result->dtype, sh_element(result, index, result->ndim));
    f->kind = kind_of(out);
    append(f->what, sizeof f->what, "%s born in %s", bad_name(out), sh_call_name(call));
    put_index(f->index, sizeof f->index, result->ndim, index);
    tell_inputs(f, call, inputs, n, result, index, out);
    if (f->why[0]) return;
    if (isinf(out))
        append(f->why, sizeof f->why,
               "the inputs are finite; the result is larger than %s can hold (overflow)",
               sh_dtype_name((sh_dtype)result->dtype));
    else
        append(f->why, sizeof f->why,
               "no input holds NaN: it came up inside the op, from an overflow or an undefined step");
}

static void tell_next(sh_finding *f, const sh_call *call) {
    const char *op = sh_op_name(sh_call_op_of(call));
    if (f->scope[0])
        append(f->next, sizeof f->next, "add --mode 'log:scope=[^%.120s$]' to see this call alone; ",
               f->scope);
    append(f->next, sizeof f->next, "add --mode 'swap:from=%s,cast=f64' to see whether f64 cures it", op);
}

static sh_status act(const checker *c, const sh_finding *f) {
    sh_finding_report(c->out, f);
    if (c->stop == STOP_TRAP) raise(SIGTRAP);
    if (c->stop != STOP_ERROR) return SH_PASS;
    return sh_fail(SH_ERROR_FINDING, "%s at %s: %s%s%s", f->what, f->index, f->inputs, f->why[0] ? "; " : "",
                   f->why);
}

static sh_status found(checker *c, const sh_call *call, const before *b, const sh_tensor *result,
                       int64_t first, int64_t bad) {
    input inputs[64];
    const size_t n = collect_inputs(call, inputs, 64);
    sh_finding f = {.bad = bad, .total = result->numel};
    const bad_input source = b->bad ? (bad_input){&b->in, b->at, b->value} : find_bad(c, inputs, n, false);
    if (source.in && atomic_exchange(&c->arrived, true)) return SH_PASS;
    tell_place(&f, call);
    if (source.in)
        tell_arrival(&f, source.in, source.at, source.value);
    else
        tell_birth(&f, call, inputs, n, result, first);
    atomic_store(&c->arrived, true);
    tell_next(&f, call);
    return act(c, &f);
}

/* What sh_check shows is told each time, by the name that the program gave it. */
static sh_status check_shown(checker *c, const sh_call *call) {
    const sh_tensor *t = sh_value_as_tensor(sh_call_arg(call, 0));
    int64_t index[SH_MAX_DIMS], first = 0;
    sh_finding f = {.total = t ? t->numel : 0, .bad = sh_scan_bad(t, c->inf, &first)};
    if (!f.bad) return SH_PASS;
    const char *name = sh_call_arg(call, 1).as.string;
    sh_scan_index(t, first, index);
    const double value = sh_load_shown((sh_dtype)t->dtype, sh_element(t, index, t->ndim));
    f.kind = kind_of(value);
    tell_place(&f, call);
    append(f.what, sizeof f.what, "%s arrived in %s", bad_name(value), name);
    put_index(f.index, sizeof f.index, t->ndim, index);
    append(f.inputs, sizeof f.inputs, "%s", name);
    if (t->ndim) put_index(f.inputs, sizeof f.inputs, t->ndim, index);
    append(f.inputs, sizeof f.inputs, " = %s", bad_name(value));
    append(f.why, sizeof f.why, "it is in the program's own memory: look at what wrote %s", name);
    append(f.next, sizeof f.next, "call sh_check earlier in the program until it is silent");
    return act(c, &f);
}

/* A view shows only what was there: who reads it will tell. One that had to copy or convert is a result like any other. */
static bool is_view_of_argument(const sh_call *call, const sh_tensor *result) {
    if (!(sh_op_tags(sh_call_op_of(call)) & SH_OP_VIEW)) return false;
    const sh_tensor *self = sh_value_as_tensor(sh_call_arg(call, 0));
    return result && self && result->storage == self->storage;
}

/* How many are bad; none, without a look, in what is known to be good or carries only what is. */
static int64_t count_bad(const checker *c, const sh_tensor *t, sh_carried carried, int64_t *first) {
    const sh_known wanted = c->inf ? SH_KNOWN_FINITE : SH_KNOWN_NO_NAN;
    if (!t || sh__known(t) >= wanted) return 0;
    const bool carries = carried.what >= wanted && carried.dtype == (sh_dtype)t->dtype;
    const int64_t bad = carries ? 0 : sh_scan_bad(t, c->inf, first);
    if (!bad) sh__know(t, carries ? carried.what : wanted);
    return bad;
}

static sh_status check_result(checker *c, const sh_call *call, const before *b, sh_value v,
                              sh_carried carried) {
    int64_t first = 0;
    for (uint32_t k = 0; k < (v.tag == SH_TAG_TENSORS ? v.count : 1); k++) {
        const sh_tensor *t = v.tag == SH_TAG_TENSORS ? v.as.tensors[k] : sh_value_as_tensor(v);
        if (!t || is_view_of_argument(call, t)) continue;
        t = readable(t);
        const int64_t bad = count_bad(c, t, carried, &first);
        if (bad) return found(c, call, b, t, first, bad);
    }
    return SH_PASS;
}

static bool is_result(const sh_call *call, const sh_tensor *t) {
    for (uint32_t i = 0; i < sh_call_nresults(call); i++)
        if (sh_value_as_tensor(sh_call_result(call, i)) == t) return true;
    return false;
}

/* Arguments that the call wrote to are results too. */
static sh_status check_written(checker *c, const sh_call *call, const before *b) {
    const sh_schema *schema = sh_call_schema(call);
    const sh_carried nothing = {SH_KNOWN_NOTHING, SH_NO_DTYPE};
    for (uint32_t i = 0; i < sh_call_nargs(call); i++) {
        const sh_value v = sh_call_arg(call, i);
        if (!schema->params[i].written || (v.tag == SH_TAG_TENSOR && is_result(call, v.as.tensor))) continue;
        SH_TRY(check_result(c, call, b, v, nothing));
    }
    return SH_PASS;
}

/* An op that makes uninitialised memory shows nothing. */
static bool says_nothing(const sh_call *call) {
    const sh_op *op = sh_call_op_of(call);
    return strncmp(sh_op_name(op), "empty", 5) == 0 || strcmp(sh_op_name(op), "isnan") == 0;
}

static sh_status on_call(sh_mode *mode, sh_call *call) {
    checker *c = sh_mode_user(mode);
    if (!sh_selection_match(&c->where, call) || says_nothing(call)) return SH_PASS;
    if (sh_op_id(sh_call_op_of(call)) == SH_OP_check_array) {
        SH_TRY(sh_next(call));
        return check_shown(c, call);
    }
    const sh_carried carried = sh_carry(call);
    const before b = look_before(c, call);
    SH_TRY(sh_next(call));
    for (uint32_t i = 0; i < sh_call_nresults(call); i++)
        SH_TRY(check_result(c, call, &b, sh_call_result(call, i), carried));
    return check_written(c, call, &b);
}

/* ---- making ---- */

static void checker_free(void *user) {
    checker *c = user;
    sh_selection_free(&c->where);
    sh_report_close(c->out);
    sh__free(c);
}

sh_status sh__nancheck_make(const sh_options *o, sh_mode **mode) {
    checker *c = sh__calloc(1, sizeof *c);
    if (!c) return SH_ERROR_MEMORY;
    const char stop = *sh_option_text(o, "stop");
    c->inf = sh_option_flag(o, "inf");
    c->stop = stop == 'e' ? STOP_ERROR : stop == 't' ? STOP_TRAP : STOP_WARN;
    sh_status status = sh_selection_read(&c->where, o);
    if (status >= 0) status = sh_report_open(sh_option_text(o, "out"), &c->out);
    if (status >= 0) {
        *mode = sh_mode_new(on_call, &(sh_mode_options){
                                         .name = "nancheck",
                                         .level = strcmp(sh_option_text(o, "level"), "dispatch") == 0
                                                      ? SH_LEVEL_DISPATCH
                                                      : SH_LEVEL_FUNCTION,
                                         .kind = SH_MODE_WATCHING,
                                         .flags = sh_selection_counts(&c->where) ? SH_MODE_COUNTS_CALLS : 0,
                                         .user = c,
                                         .destroy = checker_free,
                                     });
        if (*mode) return SH_OK;
        status = sh_error()->code;
    }
    checker_free(c);
    return status;
}
