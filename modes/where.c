#include "modes/where.h"

#include <stdlib.h>
#include <string.h>

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
    char copy[256], *save = NULL;
    if (strlen(text) >= sizeof copy)
        return sh_fail(SH_ERROR_SPEC, "%s: shape=[%.40s...] is too long", o->type->name, text);
    strcpy(copy, text);
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

void sh_selection_free(sh_selection *where) {
    sh_filter_free(where->ops);
    sh_filter_free(where->scope);
    where->ops = where->scope = NULL;
}

bool sh_selection_counts(const sh_selection *where) { return where->counts; }

static bool in_range(int64_t value, int64_t low, int64_t high) { return value >= low && value <= high; }

static bool shape_matches(const sh_selection *where, const sh_tensor *t) {
    if (sh_tensor_ndim(t) != where->ndim) return false;
    for (int i = 0; i < where->ndim; i++)
        if (!in_range(sh_tensor_sizes(t)[i], where->min_size[i], where->max_size[i])) return false;
    return true;
}

static bool tensors_match(const sh_selection *where, const sh_call *call) {
    sh_tensor *tensors[64];
    size_t n = sh_call_tensors(call, tensors, 64);
    if (n > 64) n = 64;
    int64_t largest = 0;
    for (size_t i = 0; i < n; i++)
        if (sh_tensor_numel(tensors[i]) > largest) largest = sh_tensor_numel(tensors[i]);
    if (where->dtype && (!n || sh_tensor_dtype(tensors[0]) != where->dtype)) return false;
    if (where->ndim >= 0 && (!n || !shape_matches(where, tensors[0]))) return false;
    return in_range(largest, where->min_numel, where->max_numel);
}

/* A filter that names a family means its overloads too. */
static bool op_matches(const sh_filter *filter, const sh_call *call) {
    const sh_op *family = sh_op_by_id(sh_call_family(call));
    const char *name = sh_op_name(sh_call_op_of(call));
    return sh_filter_match(filter, name) ||
           (*sh_filter_text(filter) != '!' && sh_filter_match(filter, sh_op_name(family)));
}

bool sh_selection_match(const sh_selection *where, const sh_call *call) {
    if (!op_matches(where->ops, call)) return false;
    if (!sh_filter_match(where->scope, sh_scope_path())) return false;
    if (sh_selection_counts(where) &&
        !in_range((int64_t)sh_call_number(call), where->first_call, where->last_call))
        return false;
    return tensors_match(where, call);
}
