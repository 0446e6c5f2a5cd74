/* swap.c - the swap mode: another op, other arguments or another dtype where a rule matches.
 *
 *     swap:from=relu,to=sin                     everywhere
 *     swap:from=gelu,set=[approximate=tanh]     the same op, another argument
 *     swap:from=matmul,cast=f64,numel=..4096    computed in f64, the result as it would have been
 *
 * Its effect depends on the call alone, so it is a rewriting mode, unless call numbers are asked for. */
#include <stdlib.h>
#include <string.h>

#include "dispatch/chain.h"
#include "dispatch/foreign.h"
#include "dispatch/memory_impl.h"
#include "dispatch/where.h"
#include "modes/options.h"
#include "ops/ops.h"

const sh_option sh__swap_options[] = {
    {"from", SH_OPTION_OP, NULL, NULL, "the op to replace, by name; its overloads and variants follow"},
    {"to", SH_OPTION_OP, NULL, NULL, "the op to put in its place"},
    {"set", SH_OPTION_STRING, NULL, NULL, "arguments to set: [name=value;name=value]"},
    {"cast", SH_OPTION_STRING, NULL, NULL, "compute in this dtype, cast the result back"},
    {"level", SH_OPTION_CHOICE, "function", "function|dispatch",
     "dispatch also sees what composites are made of"},
    SH_WHERE_OPTIONS,
    {NULL, SH_OPTION_STRING, NULL, NULL, NULL},
};

enum { MAX_SETS = 8 };

typedef struct setting {
    char *name;
    char *text;
} setting;

typedef struct swap {
    sh_selection where;
    const sh_op *to; /* NULL: stays the same op; it may be defined later */
    sh_dtype cast;
    setting sets[MAX_SETS];
    size_t nsets;
} swap;

/* ---- arguments ---- */

static bool text_to_value(const char *text, const sh_param *param, int64_t *ints, sh_value *value) {
    char *end;
    const bool yes = strcmp(text, "True") == 0 || strcmp(text, "true") == 0;
    switch (param->type) {
    case SH_TYPE_STRING: *value = sh_value_string(text); return true;
    case SH_TYPE_DTYPE: *value = sh_value_dtype(sh_dtype_parse(text)); return value->tag == SH_TAG_DTYPE;
    case SH_TYPE_FLAG:
        *value = sh_value_flag(yes);
        return yes || strcmp(text, "False") == 0 || strcmp(text, "false") == 0;
    case SH_TYPE_INTS: {
        size_t n = 0;
        for (; *text && n < SH_MAX_DIMS; text = *end ? end + 1 : end) {
            ints[n++] = strtoll(text, &end, 10);
            if (end == text || (*end && *end != ' ')) return false;
        }
        *value = sh_value_ints((sh_ints){ints, n});
        return true;
    }
    case SH_TYPE_TENSORS: return false;
    default: break;
    }
    const int64_t i = strtoll(text, &end, 10);
    *value = sh_value_int(i);
    if (*end == 0 && end != text) return true;
    *value = sh_value_float(strtod(text, &end));
    return *end == 0 && end != text && param->type != SH_TYPE_INT;
}

static sh_status apply_sets(const swap *s, sh_call *call) {
    const sh_schema *schema = sh_call_schema(call);
    for (size_t k = 0; k < s->nsets; k++) {
        int64_t ints[SH_MAX_DIMS];
        sh_value value;
        const int i = sh_schema_find(schema, s->sets[k].name);
        if (i < 0)
            return sh_fail(SH_ERROR_ARGUMENT, "swap: %s has no argument %s: %s", schema->name,
                           s->sets[k].name, schema->text);
        if (!text_to_value(s->sets[k].text, &schema->params[i], ints, &value))
            return sh_fail(SH_ERROR_ARGUMENT, "swap: %s=%s does not fit: %s", s->sets[k].name,
                           s->sets[k].text, schema->text);
        SH_TRY(sh_call_set_arg(call, (uint32_t)i, value));
    }
    return SH_OK;
}

/* ---- dtype ---- */

static bool is_cast(const sh_tensor *t) {
    return t && !sh_tensor_is_wrapped_number(t) && sh_dtype_kind_of(sh_tensor_dtype(t)) == SH_KIND_FLOAT;
}

/* Floating tensors among the arguments become others of this dtype; `had` keeps what they were. */
static sh_status cast_args(sh_call *call, sh_dtype dtype, sh_value *had) {
    for (uint32_t i = 0; i < sh_call_nargs(call); i++) {
        had[i] = sh_call_arg(call, i);
        if (!is_cast(sh_call_tensor(call, i))) continue;
        sh_tensor *other = sh_to(sh_call_tensor(call, i), dtype);
        if (!other) return sh_error()->code;
        SH_TRY(sh_call_set_arg(call, i, sh_value_tensor(other)));
    }
    return SH_OK;
}

static sh_status cast_results(sh_call *call, sh_dtype from, sh_dtype to) {
    for (uint32_t i = 0; i < sh_call_nresults(call); i++) {
        sh_tensor *r = sh_value_as_tensor(sh_call_result(call, i));
        if (!r || sh_tensor_dtype(r) != from) continue;
        sh_tensor *cast = sh_to(r, to);
        if (!cast) return sh_error()->code;
        SH_TRY(sh_call_set_result(call, i, sh_value_tensor(cast)));
    }
    return SH_OK;
}

/* The op runs without `out`, which has another dtype; then its result is the call's. */
static sh_status run_cast_out(sh_call *call, sh_dtype dtype) {
    const sh_dtype back = sh_tensor_dtype(sh_call_tensor(call, 0));
    sh_value args[SH_MAX_ARGS], results[SH_MAX_RESULTS] = {{0}};
    for (uint32_t i = 0; i < sh_call_nargs(call); i++) {
        args[i] = sh_call_arg(call, i);
        if (!is_cast(sh_call_tensor(call, i))) continue;
        args[i] = sh_value_tensor(sh_to(sh_call_tensor(call, i), dtype));
        if (!args[i].as.tensor) return sh_error()->code;
    }
    SH_TRY(sh_op_call(sh_call_op_of(call), args, NULL, results, NULL));
    sh_tensor *cast = sh_to(results[0].as.tensor, back);
    return cast ? sh_call_set_result(call, 0, sh_value_tensor(cast)) : sh_error()->code;
}

/* What is below runs on cast arguments; the call then shows its own arguments again, and results of its own dtype. */
static sh_status run_cast(sh_call *call, sh_dtype dtype) {
    const sh_tensor *first = sh_call_tensor(call, 0);
    sh_value had[SH_MAX_ARGS];
    if (sh_call_variant(call) == SH_INPLACE || !is_cast(first)) return SH_PASS;
    const sh_dtype back = sh_tensor_dtype(first);
    if (sh_call_variant(call) == SH_OUT) return run_cast_out(call, dtype);
    SH_TRY(cast_args(call, dtype, had));
    SH_TRY(sh_next(call));
    for (uint32_t i = 0; i < sh_call_nargs(call); i++)
        if (had[i].tag == SH_TAG_TENSOR) SH_TRY(sh_call_set_arg(call, i, had[i]));
    return cast_results(call, dtype, back);
}

static sh_status on_call(sh_mode *mode, sh_call *call) {
    const swap *s = sh_mode_user(mode);
    if (!sh_selection_match(&s->where, call)) return SH_PASS;
    if (s->to) SH_TRY(sh_call_swap(call, sh_op_id(s->to)));
    SH_TRY(apply_sets(s, call));
    return s->cast ? run_cast(call, s->cast) : SH_PASS;
}

/* ---- making ---- */

static void swap_free(void *user) {
    swap *s = user;
    sh_selection_free(&s->where);
    for (size_t k = 0; k < s->nsets; k++) {
        sh__free(s->sets[k].name);
        sh__free(s->sets[k].text);
    }
    sh__free(s);
}

static sh_status read_set(swap *s, const char *part) {
    const char *equals = strchr(part, '=');
    if (!equals || equals == part) return sh_fail(SH_ERROR_SPEC, "swap: set=[%s]: expected name=value", part);
    if (s->nsets == MAX_SETS) return sh_fail(SH_ERROR_SPEC, "swap: set: the most is %d arguments", MAX_SETS);
    setting *set = &s->sets[s->nsets++];
    set->name = sh__strdup(part);
    set->text = sh__strdup(equals + 1);
    if (!set->name || !set->text) return SH_ERROR_MEMORY;
    set->name[equals - part] = 0;
    return SH_OK;
}

static sh_status read_sets(swap *s, const char *text) {
    char *copy = text ? sh__strdup(text) : NULL, *save = NULL;
    if (!copy) return text ? SH_ERROR_MEMORY : SH_OK;
    sh_status status = SH_OK;
    for (char *part = strtok_r(copy, ";", &save); part && status >= 0; part = strtok_r(NULL, ";", &save))
        status = read_set(s, part);
    sh__free(copy);
    return status;
}

static sh_status read_swap(swap *s, const sh_options *o) {
    const char *from = sh_option_text(o, "from"), *to = sh_option_text(o, "to"),
               *cast = sh_option_text(o, "cast");
    SH_TRY(sh_selection_read(&s->where, o));
    if (!from && !sh_option_text(o, "ops")) return sh_fail(SH_ERROR_SPEC, "swap: from=OP is missing");
    if (!to && !cast && !sh_option_text(o, "set"))
        return sh_fail(SH_ERROR_SPEC, "swap: one of to=, set= or cast= is missing");
    if (to && !(s->to = sh__op_intern(to))) return sh__error_ensure(SH_ERROR_MEMORY);
    if (cast && !(s->cast = sh_dtype_parse(cast)))
        return sh_fail(SH_ERROR_SPEC, "swap: cast=%s: there is no such dtype", cast);
    return read_sets(s, sh_option_text(o, "set"));
}

sh_status sh__swap_make(const sh_options *o, sh_mode **mode) {
    swap *s = sh__calloc(1, sizeof *s);
    if (!s) return SH_ERROR_MEMORY;
    const sh_status status = read_swap(s, o);
    if (status < 0) {
        swap_free(s);
        return status;
    }
    const char *const ops[] = {sh_option_text(o, "from"), NULL};
    const bool counts = sh_selection_counts(&s->where);
    *mode = sh_mode_new(on_call,
                        &(sh_mode_options){
                            .name = "swap",
                            .level = strcmp(sh_option_text(o, "level"), "dispatch") == 0 ? SH_LEVEL_DISPATCH
                                                                                         : SH_LEVEL_FUNCTION,
                            .kind = counts ? SH_MODE_STATEFUL : SH_MODE_REWRITING,
                            .flags = counts ? SH_MODE_COUNTS_CALLS : 0,
                            .ops = ops[0] ? ops : NULL,
                            .user = s,
                            .destroy = swap_free,
                        });
    if (*mode) return SH_OK;
    swap_free(s);
    return sh_error()->code;
}
