/* names.c - which argument or result of the op a parameter is: by its name, or by its place among the tensors. */
#include <string.h>

#include "dispatch/ffi/fitting.h"

/* ---- looking up ---- */

/* x of x_strides: an array parameter; or NULL. */
static const sh_citem *base_of(const fitting *f, sh_cword name, const char *suffix) {
    const size_t n = strlen(suffix);
    if (name.n <= n || memcmp(name.at + name.n - n, suffix, n) != 0) return NULL;
    const sh_cword base = {name.at, name.n - (uint32_t)n};
    for (uint32_t i = 0; i < f->s->nparams; i++)
        if (sh__cword_equal(f->s->items[i].name, base) && f->s->items[i].pointers) return &f->s->items[i];
    return NULL;
}

static const struct {
    const char *suffix;
    sh_put put;
    bool pointer;
} derived[] = {{"_sizes", SH_PUT_SIZES, true},     {"_shape", SH_PUT_SIZES, true},
               {"_strides", SH_PUT_STRIDES, true}, {"_numel", SH_PUT_NUMEL, false},
               {"_ndim", SH_PUT_NDIM, false},      {"_dtype", SH_PUT_DTYPE, false}};

bool sh__fitting_derived(const fitting *f, const sh_citem *item, sh_put *put, const sh_citem **base) {
    for (size_t i = 0; i < sizeof derived / sizeof *derived; i++) {
        if (derived[i].pointer != (item->pointers > 0)) continue;
        if (derived[i].pointer && item->type != SH_C_I64) continue;
        if (!(*base = base_of(f, item->name, derived[i].suffix))) continue;
        *put = derived[i].put;
        return true;
    }
    return false;
}

bool sh__fitting_has_strides(const fitting *f, const sh_citem *item) {
    for (uint32_t i = 0; i < f->s->nparams; i++) {
        const sh_citem *base;
        sh_put put;
        if (sh__fitting_derived(f, &f->s->items[i], &put, &base) && put == SH_PUT_STRIDES && base == item)
            return true;
    }
    return false;
}

/* ---- first: by name ---- */

static bool is_number_type(const sh_citem *item) { return sh__ctype_class(item->type) != SH_CLASS_NONE; }

/* int *n, const float *alpha: a number by its address. */
static bool is_by_address(const fitting *f, const sh_citem *item) {
    if (item->pointers != 1 || item->brackets || !is_number_type(item)) return false;
    const int arg = find_arg(f, item->name);
    if (sh__signature_dim(f->s, item->name) >= 0 && !is_tensor_arg(f, arg)) return true;
    return is_plain_arg(f, arg) && arg_type(f, arg) != SH_TYPE_INTS && arg_type(f, arg) != SH_TYPE_STRING;
}

sh_status sh__fitting_wrong_kind(const fitting *f, const sh_citem *item, int arg) {
    char type[32];
    sh_type_print(&f->schema->params[arg], type, sizeof type);
    return sh__cprogram_fail(f->s, item, "argument %s of %s is %s, which %s%s can't be",
                             f->schema->params[arg].name, f->schema->name, type, sh__ctype_name(item->type),
                             item->pointers ? " *" : "");
}

static sh_status take_arg(fitting *f, uint32_t i, int arg) {
    const sh_citem *item = &f->s->items[i];
    if (f->used_args >> arg & 1)
        return sh__cprogram_fail(f->s, item, "argument %s of %s goes to two parameters",
                                 f->schema->params[arg].name, f->schema->name);
    f->used_args |= 1u << arg;
    f->source[i] = (uint8_t)arg;
    return SH_OK;
}

static sh_status named_tensor(fitting *f, uint32_t i) {
    const sh_citem *item = &f->s->items[i];
    const int arg = find_arg(f, item->name);
    const int result = find_named(f->schema->returns, f->schema->nreturns, item->name);
    const bool unmarked =
        is_tensor_arg(f, arg) && !item->constant && item->pointers && !f->schema->params[arg].written;
    if (is_tensor_arg(f, arg) && !(unmarked && is_closure(f))) {
        if (unmarked)
            return sh__cprogram_fail(f->s, item, "%s is not const, but the schema does not mark it (a!): %s",
                                     f->schema->params[arg].name, f->schema->text);
        return take_arg(f, i, arg);
    }
    if (result < 0 || item->constant || f->used_results >> result & 1) return SH_OK;
    f->used_results |= 1u << result;
    f->result[i] = true;
    f->source[i] = (uint8_t)result;
    return SH_OK;
}

static sh_status named_pointer(fitting *f, uint32_t i) {
    const sh_citem *item = &f->s->items[i], *base;
    const int arg = find_arg(f, item->name);
    sh_put put;
    if (sh__fitting_derived(f, item, &put, &base)) {
        f->puts[i] = (uint8_t)put;
        return SH_OK;
    }
    if (arg >= 0 && arg_type(f, arg) == SH_TYPE_TENSORS) {
        f->puts[i] = SH_PUT_LIST;
        if (item->pointers == 2) return take_arg(f, i, arg);
        return sh__cprogram_fail(f->s, item, "%s is a Tensor[]: it takes sh_tensor *%s[n]",
                                 f->schema->params[arg].name, f->schema->params[arg].name);
    }
    if (item->pointers == 2)
        return sh__cprogram_fail(f->s, item, "no argument of %s is a Tensor[] of that name", f->schema->name);
    if (is_by_address(f, item)) {
        f->puts[i] = SH_PUT_NUMBER;
        return SH_OK;
    }
    if (is_plain_arg(f, arg)) {
        const bool ints = arg_type(f, arg) == SH_TYPE_INTS;
        if (!ints && arg_type(f, arg) != SH_TYPE_STRING) return sh__fitting_wrong_kind(f, item, arg);
        f->puts[i] = ints ? SH_PUT_INTS : SH_PUT_STRING;
        if (item->type == (ints ? SH_C_I64 : SH_C_CHAR) && item->constant) return take_arg(f, i, arg);
        return sh__cprogram_fail(f->s, item, "argument %s is %s: it takes const %s",
                                 f->schema->params[arg].name, ints ? "an int[]" : "a str",
                                 ints ? "int64_t *" : "char *");
    }
    f->puts[i] = item->type == SH_C_TENSOR ? SH_PUT_TENSOR : SH_PUT_ARRAY;
    return named_tensor(f, i);
}

/* A number that is no dimension and no argument stands, with SH_C_ELEMENTWISE, for an element. */
static bool is_element(const fitting *f, const sh_citem *item) {
    if ((f->p->adapter != SH_C_ELEMENTWISE && !is_closure(f)) || item->pointers || !is_number_type(item))
        return false;
    const int arg = find_arg(f, item->name);
    const sh_citem *base;
    sh_put put;
    return sh__signature_dim(f->s, item->name) < 0 && !is_plain_arg(f, arg) &&
           !sh__fitting_derived(f, item, &put, &base);
}

static sh_status by_name(fitting *f) {
    for (uint32_t i = 0; i < f->s->nparams; i++) {
        const sh_citem *item = &f->s->items[i];
        f->puts[i] = f->source[i] = UNKNOWN;
        if (item->pointers) {
            SH_TRY(named_pointer(f, i));
        } else if (is_element(f, item)) {
            f->puts[i] = SH_PUT_ITEM;
            SH_TRY(named_tensor(f, i));
        }
    }
    return SH_OK;
}

/* ---- second: tensors in order ---- */

static int next_arg(const fitting *f, bool written) {
    for (int i = 0; i < f->schema->nparams; i++)
        if (is_tensor_arg(f, i) && !(f->used_args >> i & 1) && (!written || f->schema->params[i].written))
            return i;
    return -1;
}

static int next_result(const fitting *f) {
    for (int i = 0; i < f->schema->nreturns; i++)
        if (!(f->used_results >> i & 1) && f->schema->returns[i].type == SH_TYPE_TENSOR) return i;
    return -1;
}

static sh_status in_order(fitting *f) {
    for (uint32_t i = 0; i < f->s->nparams; i++) {
        const sh_citem *item = &f->s->items[i];
        if (f->source[i] != UNKNOWN || f->puts[i] > SH_PUT_ITEM) continue;
        const bool reads = f->puts[i] == SH_PUT_ITEM || item->constant;
        const int arg = next_arg(f, !reads), result = reads || arg >= 0 ? -1 : next_result(f);
        if (arg < 0 && result < 0)
            return sh__cprogram_fail(f->s, item, "no tensor of %s is left for this parameter: %s",
                                     f->schema->name, f->schema->text);
        if (arg >= 0) {
            SH_TRY(take_arg(f, i, arg));
            continue;
        }
        f->used_results |= 1u << result;
        f->result[i] = true;
        f->source[i] = (uint8_t)result;
    }
    return SH_OK;
}

sh_status sh__fitting_names(fitting *f) {
    SH_TRY(by_name(f));
    return in_order(f);
}
