/* forms.c - what writer and reader must agree on: keys, the members of a state, layouts. */
#include <stdio.h>
#include <string.h>

#include "dispatch/number.h"
#include "graph/ir/impl.h"
#include "ops/api.h"

/* ---- locale ---- */

sh_status sh__ir_locale_begin(sh_ir_locale *locale) {
    locale->own = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!locale->own) return sh_fail(SH_ERROR_MEMORY, "no memory for the C locale");
    locale->before = uselocale(locale->own);
    return SH_OK;
}

void sh__ir_locale_end(const sh_ir_locale *locale) {
    uselocale(locale->before);
    freelocale(locale->own);
}

/* ---- keys ---- */

void sh__ir_put_key(sh_text *out, const char *path, const char *name) {
    if (path && *path) sh__text_put(out, "%s.", path);
    if (path) sh__text_add(out, ".", 1);
    sh__text_add(out, name, strlen(name));
}

/* ---- state ---- */

static sh_arg number(int64_t i) { return i == SH_NO_INT ? sh_arg_none() : sh_arg_int(i); }

/* A pair of one number is that number; a long list ends before its zeros. */
static sh_arg numbers(const sh_module_field *field, const int64_t *at, sh_arg *room) {
    size_t n = field->count;
    if (n == 2 && at[1] == SH_SAME) return number(at[0]);
    while (n > 2 && !at[n - 1]) n--;
    if (field->count > 2 && n == 2 && !at[1]) n = 1;
    for (size_t i = 0; i < n; i++) room[i] = sh_arg_int(at[i]);
    return sh_arg_tuple((sh_args){room, n});
}

sh_arg sh__ir_field_arg(const sh_module_field *field, const void *state, sh_arg *room) {
    const void *const at = (const char *)state + field->offset;
    switch (field->kind) {
    case SH_FIELD_INT: return number(*(const int64_t *)at);
    case SH_FIELD_FLOAT: {
        const double value = *(const double *)at;
        return sh__is_no_number(value) ? sh_arg_none() : sh_arg_float(value);
    }
    case SH_FIELD_FLAG: return sh_arg_flag(*(const bool *)at);
    case SH_FIELD_INTS: return numbers(field, at, room);
    default: return *(const char *const *)at ? sh_arg_string(*(const char *const *)at) : sh_arg_none();
    }
}

static bool set_number(int64_t *to, sh_arg value) {
    *to = value.tag == SH_ARG_INT ? value.as.i : SH_NO_INT;
    return value.tag == SH_ARG_INT || value.tag == SH_ARG_NONE;
}

static bool set_numbers(const sh_module_field *field, int64_t *to, sh_arg value) {
    if (field->count == 2 && value.tag == SH_ARG_INT) {
        to[0] = value.as.i;
        to[1] = SH_SAME;
        return true;
    }
    if (!sh_arg_is_list(value) || value.count > field->count) return false;
    for (uint32_t i = 0; i < value.count; i++) {
        if (value.as.list[i].tag != SH_ARG_INT) return false;
        to[i] = value.as.list[i].as.i;
    }
    return true;
}

static bool set_double(double *to, sh_arg value) {
    *to = value.tag == SH_ARG_FLOAT ? value.as.f
          : value.tag == SH_ARG_INT ? (double)value.as.i
                                    : SH_NO_NUMBER;
    return value.tag == SH_ARG_FLOAT || value.tag == SH_ARG_INT || value.tag == SH_ARG_NONE;
}

static bool set_choice(const sh_module_field *field, const char **to, sh_arg value) {
    *to = NULL;
    for (size_t i = 0; value.tag == SH_ARG_STRING && field->choices && field->choices[i]; i++)
        if (strcmp(field->choices[i], value.as.string) == 0) *to = field->choices[i];
    return *to || value.tag == SH_ARG_NONE;
}

bool sh__ir_field_set(const sh_module_field *field, void *state, sh_arg value) {
    void *const at = (char *)state + field->offset;
    switch (field->kind) {
    case SH_FIELD_INT: return set_number(at, value);
    case SH_FIELD_FLOAT: return set_double(at, value);
    case SH_FIELD_FLAG: *(bool *)at = value.tag == SH_ARG_FLAG && value.as.i; return value.tag == SH_ARG_FLAG;
    case SH_FIELD_INTS: return set_numbers(field, at, value);
    default: return set_choice(field, at, value);
    }
}

void sh__ir_field_kind(const sh_module_field *field, char *text, size_t size) {
    static const char *const kinds[] = {"an int or None", "a float or None", "True or False", NULL, NULL};
    if (field->kind == SH_FIELD_INTS)
        snprintf(text, size, "a list of up to %zu ints", field->count);
    else
        snprintf(text, size, "%s", kinds[field->kind] ? kinds[field->kind] : "one of ");
    size_t n = strlen(text);
    if (field->kind == SH_FIELD_CHOICE)
        for (size_t i = 0; field->choices && field->choices[i] && n < size; i++)
            n += (size_t)snprintf(text + n, size - n, i ? ", '%s'" : "'%s'", field->choices[i]);
}

/* ---- strides ---- */

bool sh__ir_is_dense(const int64_t *sizes, const int64_t *strides, int ndim) {
    bool met[SH_MAX_DIMS] = {false};
    int64_t expected = 1;
    for (int found = 0; found < ndim; found++) {
        int i = 0;
        while (i < ndim && (met[i] || (sizes[i] != 1 && strides[i] != expected))) i++;
        if (i == ndim || sizes[i] < 1 || __builtin_mul_overflow(expected, sizes[i], &expected)) return false;
        met[i] = true;
    }
    return true;
}
