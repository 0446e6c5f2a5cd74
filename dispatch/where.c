#include "dispatch/where.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/thread.h"

static sh_status read_dtype(sh_selection *where, const sh_options *o) {
    const char *text = sh_option_text(o, "dtype");
    if (!text) return SH_OK;
    where->dtype = sh_dtype_parse(text);
    return where->dtype ? SH_OK
                        : sh_fail(SH_ERROR_SPEC, "%s: dtype=%s: there is no such dtype", o->type->name, text);
}

/* One entry of a shape: *, N or A..B. */
static bool read_size(const char *text, int64_t *low, int64_t *high) {
    return sh__range_parse(strcmp(text, "*") == 0 ? "0.." : text, low, high);
}

static sh_status read_shape(sh_selection *where, const sh_options *o) {
    const char *text = sh_option_text(o, "shape");
    where->ndim = -1;
    if (!text) return SH_OK;
    char copy[sizeof where->shape], *save = NULL;
    if (strlen(text) >= sizeof copy)
        return sh_fail(SH_ERROR_SPEC, "%s: shape=[%.40s...] is too long", o->type->name, text);
    strcpy(copy, text);
    strcpy(where->shape, text);
    where->ndim = 0;
    for (char *part = strtok_r(copy, " ,", &save); part; part = strtok_r(NULL, " ,", &save)) {
        const int i = where->ndim++;
        if (i == SH_MAX_DIMS || !read_size(part, &where->min_size[i], &where->max_size[i]))
            return sh_fail(SH_ERROR_SPEC, "%s: shape=[%s]: '%s' is no size: expected N, A..B or *",
                           o->type->name, text, part);
    }
    return SH_OK;
}

sh_status sh_selection_read(sh_selection *where, const sh_options *o) {
    memset(where, 0, sizeof *where);
    SH_TRY(read_dtype(where, o));
    SH_TRY(read_shape(where, o));
    sh_option_range(o, "numel", &where->min_numel, &where->max_numel);
    sh_option_range(o, "call", &where->first_call, &where->last_call);
    where->counts = sh_option_text(o, "call") != NULL;
    where->ops = sh_filter_new(sh_option_text(o, "ops"), SH_FILTER_GLOB);
    where->scope = where->ops ? sh_filter_new(sh_option_text(o, "scope"), SH_FILTER_ERE) : NULL;
    if (where->scope) return SH_OK;
    sh_selection_free(where);
    return sh_error()->code;
}

sh_status sh_selection_parse(sh_selection *where, const char *text) {
    static const sh_option options[] = {SH_WHERE_OPTIONS, {NULL, SH_OPTION_STRING, NULL, NULL, NULL}};
    static const sh_option_group group = {"where", "", options};
    sh_spec_reader r = {text, text};
    sh_options o = {.type = &group};
    if (sh__error_pending()) return sh_error()->code;
    sh_status status = text && *text ? sh__reader_options(&r, &o) : SH_OK;
    if (status >= 0 && text && *r.at) status = sh__reader_bad(&r, r.at, "expected , here", NULL, NULL);
    if (status >= 0) status = sh__reader_point(&r, text, sh_selection_read(where, &o));
    sh_options_free(&o);
    return status;
}

void sh_selection_free(sh_selection *where) {
    sh_filter_free(where->ops);
    sh_filter_free(where->scope);
    where->ops = where->scope = NULL;
}

bool sh_selection_counts(const sh_selection *where) { return where->counts; }

/* ---- matching ---- */

/* Where and why a call is not meant; nothing is formatted where `text` is NULL. */
typedef struct refusal {
    char *text;
    size_t size;
} refusal;

SH_PRINTF(2, 3) static bool refuse(const refusal *why, const char *format, ...) {
    va_list list;
    if (!why->text) return false;
    va_start(list, format);
    vsnprintf(why->text, why->size, format, list);
    va_end(list);
    return false;
}

static bool in_range(int64_t value, int64_t low, int64_t high) { return value >= low && value <= high; }

static bool shape_matches(const sh_selection *where, const sh_tensor *t, const refusal *why) {
    bool fits = sh_tensor_ndim(t) == where->ndim;
    for (int i = 0; fits && i < where->ndim; i++)
        fits = in_range(sh_tensor_sizes(t)[i], where->min_size[i], where->max_size[i]);
    if (fits || !why->text) return fits;
    char type[160];
    sh_value_print(sh_value_tensor((sh_tensor *)(uintptr_t)t), type, sizeof type);
    return refuse(why, "the shape of %s is not [%s]", type, where->shape);
}

static bool tensors_match(const sh_selection *where, const sh_call *call, const refusal *why) {
    sh_tensor *tensors[64];
    size_t n = sh_call_tensors(call, tensors, 64);
    if (n > 64) n = 64;
    int64_t largest = 0;
    for (size_t i = 0; i < n; i++)
        if (sh_tensor_numel(tensors[i]) > largest) largest = sh_tensor_numel(tensors[i]);
    if (where->dtype && (!n || sh_tensor_dtype(tensors[0]) != where->dtype))
        return refuse(why, "dtype %s is not %s", n ? sh_dtype_name(sh_tensor_dtype(tensors[0])) : "none",
                      sh_dtype_name(where->dtype));
    if (where->ndim >= 0 && !n) return refuse(why, "no tensor has a shape");
    if (where->ndim >= 0 && !shape_matches(where, tensors[0], why)) return false;
    if (in_range(largest, where->min_numel, where->max_numel)) return true;
    return refuse(why, "numel %lld is %s", (long long)largest,
                  largest < where->min_numel ? "too small" : "too large");
}

/* A filter that names a family means its overloads too. */
static bool op_matches(const sh_filter *filter, const sh_op *op) {
    return sh_filter_match(filter, sh_op_name(op)) ||
           (*sh_filter_text(filter) != '!' &&
            sh_filter_match(filter, sh_op_name(sh_op_by_id(sh_op_family(op)))));
}

bool sh_selection_takes_op(const sh_selection *where, const sh_op *op) { return op_matches(where->ops, op); }

bool sh_selection_holds(const sh_selection *where, const sh_call *call, char *text, size_t size) {
    const refusal why = {text, size};
    if (!op_matches(where->ops, sh_call_op_of(call)))
        return refuse(&why, "the op is not %s", sh_filter_text(where->ops));
    if (*sh_filter_text(where->scope) && !sh_filter_match(where->scope, sh_scope_path()))
        return refuse(&why, "scope '%s' is not %s", sh_scope_path(), sh_filter_text(where->scope));
    return tensors_match(where, call, &why);
}

bool sh_selection_has_number(const sh_selection *where, int64_t number) {
    return !where->counts || in_range(number, where->first_call, where->last_call);
}

bool sh_selection_match(const sh_selection *where, const sh_call *call) {
    return sh_selection_holds(where, call, NULL, 0) &&
           (!where->counts || sh_selection_has_number(where, (int64_t)sh_call_number(call)));
}
