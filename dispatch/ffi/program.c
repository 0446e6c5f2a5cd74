/* program.c - fitting a signature to a schema: which parameter gets what.
 *
 * Parameters are looked at three times: those that are known by name, then tensors that are left over in order, then
 * everything that hangs on arrays or dimensions. Whoever finds nothing is an error with its column. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/ffi/fitting.h"
#include "dispatch/suggest.h"

sh_status sh__cprogram_fail(const sh_signature *s, const sh_citem *item, const char *format, ...) {
    char what[400];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    return sh_fail(SH_ERROR_SIGNATURE, "C signature \"%.60s%s\", column %u: %s", s->text,
                   strlen(s->text) > 60 ? "..." : "", item->column, what);
}

/* ---- steps ---- */

static sh_cstep *add_step(fitting *f, sh_put put, const sh_citem *item, uint32_t at) {
    sh_cstep *s = &f->p->steps[f->p->nsteps++];
    *s = (sh_cstep){.put = (uint8_t)put, .type = (uint8_t)item->type, .at = (uint16_t)at, .item = item};
    return s;
}

static void set_sizes(sh_cstep *s, const sh_citem *item) {
    s->rank = item->rank;
    for (int d = 0; d < item->rank; d++) {
        const int32_t name = item->dims[d].name;
        s->sizes[d] = name >= 0              ? SH_SIZE_NAME - name
                      : name == SH_DIM_FIXED ? item->dims[d].size
                                             : SH_SIZE_ANY;
    }
    if (item->rank > 1 || (item->rank == 1 && item->dims[0].name != SH_DIM_ANY)) s->flags |= SH_STEP_SHAPED;
}

static sh_status array_step(fitting *f, uint32_t i) {
    const sh_citem *item = &f->s->items[i];
    sh_cstep *s = add_step(f, f->puts[i], item, f->p->places[i]);
    const bool written = !f->result[i] && f->schema->params[f->source[i]].written && item->pointers;
    s->source = f->source[i];
    s->index = f->p->narrays;
    s->dtypes = s->put == SH_PUT_TENSOR ? ~0u : sh__ctype_dtypes(item->type);
    s->flags =
        (uint8_t)((f->result[i] ? SH_STEP_RESULT : 0) |
                  (f->result[i] || (written && !item->constant) ? SH_STEP_WRITES : 0) |
                  (sh__fitting_has_strides(f, item) || s->put == SH_PUT_TENSOR ? SH_STEP_AS_IT_LIES : 0));
    set_sizes(s, item);
    f->array[i] = f->p->narrays++;
    s->simple = SH_NOT_SIMPLE;
    if (!f->result[i] && (s->flags & SH_STEP_WRITES)) f->p->written[f->p->nwritten++] = s->source;
    if (!s->dtypes)
        return sh__cprogram_fail(f->s, item, "no dtype has elements of %s", sh__ctype_name(item->type));
    if (s->put == SH_PUT_ARRAY && f->p->adapter == SH_C_ELEMENTWISE && s->rank > 1)
        return sh__cprogram_fail(f->s, item, "elementwise arrays have one dimension");
    return SH_OK;
}

/* Inputs, then what is written, then results. */
static sh_status array_steps(fitting *f) {
    for (int pass = 0; pass < 3; pass++)
        for (uint32_t i = 0; i < f->s->nparams; i++) {
            if (f->puts[i] > SH_PUT_ITEM) continue;
            const bool written = !f->result[i] && !f->s->items[i].constant && f->s->items[i].pointers;
            if (pass == (f->result[i] ? 2 : written)) SH_TRY(array_step(f, i));
        }
    return SH_OK;
}

static sh_status no_source(const fitting *f, const sh_citem *item) {
    const char *names[SH_MAX_ARGS];
    char name[64];
    size_t n = 0;
    snprintf(name, sizeof name, "%.*s", (int)item->name.n, item->name.at);
    if (!*name) return sh__cprogram_fail(f->s, item, "a number without a name: nothing says what it gets");
    for (uint32_t i = 0; i < f->schema->nparams; i++) names[n++] = f->schema->params[i].name;
    const char *near = sh_suggest(name, names, n);
    return sh__cprogram_fail(f->s, item, "%s is no size of an array and no argument of %s%s%s", name,
                             f->schema->text, near ? "; did you mean " : "", near ? near : "");
}

/* A number at `at` in the frame: what stands for the name. */
static sh_status number_step(fitting *f, const sh_citem *item, sh_cword name, uint32_t at, bool *found) {
    const int dim = sh__signature_dim(f->s, name), arg = find_arg(f, name);
    *found = dim >= 0 || arg >= 0;
    if (dim >= 0) {
        add_step(f, SH_PUT_DIM, item, at)->source = (uint8_t)dim;
    } else if (arg >= 0) {
        const sh_type type = arg_type(f, arg);
        if (type == SH_TYPE_TENSORS || type == SH_TYPE_INTS || type == SH_TYPE_STRING)
            return sh__fitting_wrong_kind(f, item, arg);
        add_step(f, SH_PUT_NUMBER, item, at)->source = (uint8_t)arg;
        f->used_args |= 1u << arg;
    }
    return SH_OK;
}

/* ---- structs ---- */

/* Field number n of the struct `owner`: s_field, element n of s, field. */
static sh_status field_number(fitting *f, const sh_citem *owner, const sh_citem *field, uint32_t at,
                              uint32_t n) {
    char joined[136];
    bool found;
    snprintf(joined, sizeof joined, "%.*s_%.*s", (int)owner->name.n, owner->name.at, (int)field->name.n,
             field->name.at);
    if (owner->name.n) {
        SH_TRY(number_step(f, field, (sh_cword){joined, (uint32_t)strlen(joined)}, at, &found));
        if (found) return SH_OK;
    }
    const int whole = find_arg(f, owner->name);
    if (whole >= 0 && (is_tensor_arg(f, whole) || arg_type(f, whole) == SH_TYPE_INTS)) {
        sh_cstep *s = add_step(f, SH_PUT_ELEMENT, field, at);
        s->source = (uint8_t)whole;
        s->index = (uint8_t)n;
        f->used_args |= 1u << whole;
        return SH_OK;
    }
    SH_TRY(number_step(f, field, field->name, at, &found));
    return found ? SH_OK : no_source(f, field);
}

static sh_status struct_steps(fitting *f, const sh_citem *owner, const sh_citem *item, uint32_t at,
                              uint32_t *n) {
    for (uint16_t i = item->fields; i; i = f->s->items[i].next) {
        const sh_citem *field = &f->s->items[i];
        const uint32_t place = at + field->offset;
        if (field->pointers) return sh__cprogram_fail(f->s, field, "a field that is a pointer gets no value");
        if (field->type == SH_C_STRUCT)
            SH_TRY(struct_steps(f, owner, field, place, n));
        else
            SH_TRY(field_number(f, owner, field, place, (*n)++));
    }
    return SH_OK;
}

/* ---- third: everything else ---- */

static uint8_t array_of(const fitting *f, const sh_citem *item) { return f->array[item - f->s->items]; }

static sh_status derived_step(fitting *f, const sh_citem *item, sh_put put, const sh_citem *base,
                              uint32_t at) {
    if (f->puts[base - f->s->items] > SH_PUT_TENSOR)
        return sh__cprogram_fail(f->s, item, "%.*s is no tensor", (int)base->name.n, base->name.at);
    sh_cstep *s = add_step(f, put, item, at);
    s->source = array_of(f, base);
    set_sizes(s, item);
    return SH_OK;
}

static sh_status rest_step(fitting *f, uint32_t i) {
    const sh_citem *item = &f->s->items[i], *base;
    const uint32_t at = f->p->places[i];
    uint32_t n = 0;
    bool found;
    sh_put put;
    if (f->puts[i] <= SH_PUT_ITEM) return SH_OK;
    if (item->type == SH_C_STRUCT) return struct_steps(f, item, item, at, &n);
    if (sh__fitting_derived(f, item, &put, &base)) return derived_step(f, item, put, base, at);
    if (f->puts[i] == SH_PUT_LIST || f->puts[i] == SH_PUT_INTS || f->puts[i] == SH_PUT_STRING) {
        sh_cstep *s = add_step(f, f->puts[i], item, at);
        s->source = f->source[i];
        set_sizes(s, item);
        return SH_OK;
    }
    SH_TRY(number_step(f, item, item->name, at, &found));
    if (!found) return no_source(f, item);
    sh_cstep *s = &f->p->steps[f->p->nsteps - 1];
    if (!item->pointers) return SH_OK;
    s->flags |= SH_STEP_BY_ADDRESS;
    s->address_at = (uint16_t)at;
    s->at = (uint16_t)(SH_C_FRAME - 16 * (i + 1)); /* values stand at the end of the frame */
    return SH_OK;
}

/* Lists bind dimensions too: they come before numbers. */
static sh_status rest_steps(fitting *f) {
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < f->s->nparams; i++) {
            const bool list = f->puts[i] >= SH_PUT_LIST && f->puts[i] <= SH_PUT_STRIDES;
            if (list != (pass == 0)) continue;
            SH_TRY(rest_step(f, i));
        }
    return SH_OK;
}

/* Every parameter at a multiple of its alignment; numbers passed by address need 16 bytes each at the end. */
static sh_status lay_out(fitting *f) {
    uint32_t at = 0;
    for (uint32_t i = 0; i < f->s->nparams; i++) {
        const sh_citem *item = &f->s->items[i];
        const uint32_t align = item->align < 8 ? 8 : item->align;
        at = (at + align - 1) / align * align;
        f->p->places[i] = (uint16_t)at;
        at += item->size;
        if (at > SH_C_FRAME - 16 * f->s->nparams)
            return sh__cprogram_fail(f->s, item, "the parameters take more than %u bytes",
                                     SH_C_FRAME - 16 * f->s->nparams);
    }
    f->p->nparams = (uint8_t)f->s->nparams;
    return SH_OK;
}

/* ---- what comes back, what is left ---- */

static int uncovered_result(const fitting *f) {
    for (int i = 0; i < f->schema->nreturns; i++)
        if (!(f->used_results >> i & 1) && f->p->alias[i] == SH_NO_SOURCE) return i;
    return -1;
}

/* A result with the alias mark of an argument that is written is that argument. */
static void find_aliases(fitting *f) {
    for (int r = 0; r < SH_MAX_RESULTS; r++) {
        f->p->alias[r] = SH_NO_SOURCE;
        if (r >= f->schema->nreturns || !f->schema->returns[r].alias || f->used_results >> r & 1) continue;
        for (int i = 0; i < f->schema->nparams; i++)
            if (f->schema->params[i].alias == f->schema->returns[r].alias && f->schema->params[i].written)
                f->p->alias[r] = (uint8_t)i;
        f->p->ends |= f->p->alias[r] != SH_NO_SOURCE;
    }
}

static sh_status fit_returns(fitting *f) {
    const sh_citem *item = &f->s->returns;
    const bool tensor = item->pointers > 0, nothing = item->type == SH_C_VOID;
    const int open = uncovered_result(f);
    if (open >= 0 && nothing)
        return sh__cprogram_fail(
            f->s, item,
            "nothing gives result %d of %s: no parameter is left for it and the function returns void", open,
            f->schema->text);
    f->used_results |= open >= 0 ? 1u << open : 0;
    f->p->given = (uint8_t)(open >= 0 ? open : 0);
    if (open >= 0 && uncovered_result(f) >= 0)
        return sh__cprogram_fail(f->s, item, "nothing gives result %d of %s", uncovered_result(f),
                                 f->schema->text);
    f->p->gives = (uint8_t)(open < 0 ? nothing ? SH_GIVES_NOTHING : SH_GIVES_STATUS
                            : tensor ? SH_GIVES_TENSOR
                                     : SH_GIVES_NUMBER);
    if (f->p->gives == SH_GIVES_STATUS && item->type != SH_C_I32)
        return sh__cprogram_fail(
            f->s, item, "all results are parameters: the function returns void, or int for its status");
    if (open >= 0 && f->schema->returns[open].type != SH_TYPE_TENSOR)
        return sh__cprogram_fail(f->s, item, "result %d is a list, which a C function can't give", open);
    if (f->p->gives == SH_GIVES_NUMBER && !sh__ctype_dtypes(item->type))
        return sh__cprogram_fail(f->s, item, "no dtype has elements of %s", sh__ctype_name(item->type));
    f->p->returned = (sh_cstep){.put = SH_PUT_ITEM,
                                .type = (uint8_t)item->type,
                                .source = f->p->given,
                                .flags = SH_STEP_RESULT | SH_STEP_WRITES,
                                .index = f->p->narrays,
                                .item = item,
                                .dtypes = sh__ctype_dtypes(item->type)};
    return SH_OK;
}

/* Arguments that no parameter takes must have a default that they can be held to. */
static sh_status check_idle(fitting *f, uint32_t given) {
    const int dim = sh_schema_find(f->schema, "dim");
    f->p->dim_arg = SH_NO_SOURCE;
    for (uint32_t i = 0; i < f->schema->nparams; i++) {
        const sh_param *param = &f->schema->params[i];
        if ((f->used_args | given) >> i & 1) continue;
        if (f->p->adapter == SH_C_ROWS && (int)i == dim &&
            (param->type == SH_TYPE_INT || param->type == SH_TYPE_INTS)) {
            f->p->dim_arg = (uint8_t)i;
            continue;
        }
        /* A row function knows nothing of it, and the shape of the result is the op's affair. */
        if (f->p->adapter == SH_C_ROWS && strcmp(param->name, "keepdim") == 0) continue;
        f->p->idle_args |= 1u << i;
        if (!param->has_default && !param->optional)
            return sh__cprogram_fail(f->s, &f->s->items[0], "argument %s of %s goes to no parameter",
                                     param->name, f->schema->text);
    }
    return SH_OK;
}

/* ---- what is known beforehand ---- */

static void make_simple(sh_cstep *s, uint32_t *bound) {
    const sh_dtype dtype = sh__ctype_dtype((sh_ctype)s->type);
    const uint32_t before = *bound;
    bool simple = s->put == SH_PUT_ARRAY && s->flags & SH_STEP_SHAPED && dtype && s->dtypes == 1u << dtype;
    for (int d = 0; d < s->rank; d++) {
        const uint32_t name = (uint32_t)(SH_SIZE_NAME - s->sizes[d]);
        simple &= s->sizes[d] <= SH_SIZE_NAME;
        s->names[d] = (uint8_t)(simple ? name : 0);
        if (simple && *bound >> name & 1 && !(before >> name & 1)) simple = false; /* x[n][n] */
        if (simple) *bound |= 1u << name;
    }
    s->binds = simple ? *bound & ~before : 0;
    if (simple) s->simple = (uint32_t)dtype | (uint32_t)SH_HOST << 8 | (uint32_t)s->rank << 16;
}

/* While no array may be None, who binds which dimension is known, and that it has a size. */
static void look_ahead(fitting *f) {
    uint32_t bound = 0;
    for (uint32_t i = 0; i < f->p->narrays; i++) {
        sh_cstep *s = &f->p->steps[i];
        if (!(s->flags & SH_STEP_RESULT) && f->schema->params[s->source].optional) return;
        make_simple(s, &bound);
        if (s->simple == SH_NOT_SIMPLE) return;
    }
    for (uint32_t i = f->p->narrays; i < f->p->nsteps; i++) {
        sh_cstep *s = &f->p->steps[i];
        if (s->put != SH_PUT_DIM || s->flags || !(bound >> s->source & 1)) continue;
        if (s->type == SH_C_U64 || s->type == SH_C_I64) s->put = SH_PUT_DIM_64;
        if (s->type == SH_C_I32) s->put = SH_PUT_DIM_32;
    }
}

static sh_status fit(fitting *f, uint32_t given) {
    SH_TRY(lay_out(f));
    if (f->p->adapter == SH_C_GEMM) return sh__cprogram_gemm(f->p, given);
    SH_TRY(sh__fitting_names(f));
    SH_TRY(array_steps(f));
    SH_TRY(rest_steps(f));
    find_aliases(f);
    SH_TRY(fit_returns(f));
    SH_TRY(check_idle(f, given));
    if (f->p->adapter == SH_C_PLAIN && !is_closure(f)) look_ahead(f);
    return SH_OK;
}

sh_cprogram *sh__cprogram_new(const sh_signature *s, const sh_schema *schema, const sh_c_options *options,
                              uint32_t given) {
    sh_cprogram *p = sh__calloc(1, sizeof *p);
    if (!p) return NULL;
    p->schema = schema;
    p->signature = s;
    p->adapter = options ? options->adapter : SH_C_PLAIN;
    p->flags = options ? options->flags : 0;
    fitting f = {.p = p, .s = s, .schema = schema};
    if (p->adapter <= SH_C_GEMM && fit(&f, given) >= 0) return p;
    if (p->adapter > SH_C_GEMM) sh_fail(SH_ERROR_VALUE, "%d is no adapter of C functions", (int)p->adapter);
    sh__free(p);
    return NULL;
}
