/* views.c - words for a Fortran routine from what tensors say.
 *
 * A layout that the routine can take is passed as it is: columns at a distance, or rows of a transposed operand, with the
 * letters that say so. Any other is copied first, and what was written is copied back. */
#include <complex.h>
#include <stdio.h>
#include <string.h>

#include "dispatch/tensor_impl.h"
#include "interpose/machine.h"

typedef struct call {
    const wr_routine *routine;
    const wr_entry *entry;
    sh_value *args; /* of its own */
    int64_t dims[WR_DIM_COUNT];
    sh_tensor *arrays[WR_MAX_ARGS]; /* as the routine gets them */
    sh_tensor *back[WR_MAX_ARGS];   /* where the copy that the routine writes goes in the end */
    char letters[WR_MAX_ARGS];      /* 0: not decided yet */
    union {
        int64_t wide;
        int32_t narrow;
    } integers[WR_MAX_ARGS];
    wr_result numbers[WR_MAX_ARGS];
    void *words[WR_MAX_WORDS];
} call;

/* ---- layouts ---- */

/* Elements of dimension `fast` side by side, the others at a distance that is a leading dimension. */
static bool lies(const sh_tensor *t, int fast) {
    const int64_t rows = t->sizes[fast], step = t->strides[!fast];
    return (t->strides[fast] == 1 || rows <= 1) && (step >= (rows > 1 ? rows : 1) || t->sizes[!fast] <= 1);
}

static int64_t leading_dimension(const sh_tensor *t, int fast) {
    const int64_t rows = t->sizes[fast] > 1 ? t->sizes[fast] : 1;
    return t->sizes[!fast] <= 1 && t->strides[!fast] < rows ? rows : t->strides[!fast];
}

static sh_tensor *copied(const sh_tensor *t, int fast, bool filled) {
    const int64_t sizes[2] = {t->sizes[!fast], t->sizes[fast]},
                  strides[2] = {fast ? t->sizes[1] : 1, fast ? 1 : t->sizes[0]};
    sh_tensor *copy =
        sh_tensor_new((sh_dtype)t->dtype, t->ndim == 2 ? (sh_ints){sizes, 2} : (sh_ints){t->sizes, t->ndim});
    if (copy && t->ndim == 2)
        copy = sh_tensor_as_strided(copy, (sh_ints){t->sizes, 2}, (sh_ints){strides, 2}, 0);
    if (!copy || (t->ndim == 2 && sh_tensor_set_part(copy, sh_tensor_part(t)) < 0)) return NULL;
    if (filled) wr_copy(copy, t);
    return copy;
}

/* ---- letters ---- */

/* A rank-k update of a Hermitian matrix knows no plain transposition, one of a symmetric matrix no conjugated one. */
static char letter_for(const call *c, const wr_arg *a, const sh_tensor *t, bool conjugated) {
    if (c->letters[a->trans]) return c->letters[a->trans];
    const bool hermitian = strstr(c->routine->op, "::her") && c->entry->dtype >= SH_REAL_DTYPE_END;
    if (conjugated) return 'C';
    return !lies(t, 0) && lies(t, 1) && !hermitian ? 'T' : 'N';
}

static char flipped(char uplo) { return uplo == 'U' ? 'L' : 'U'; }

/* What a matrix says of the triangle that counts, where no argument does. */
static void set_part_letters(call *c, const wr_arg *a, const sh_tensor *t, char trans) {
    const unsigned part = sh_tensor_part(t);
    if (a->uplo >= 0 && !c->letters[a->uplo]) {
        const char uplo = part & SH_PART_LOWER ? 'L' : 'U';
        c->letters[a->uplo] = trans == 'N' ? uplo : flipped(uplo);
    }
    if (a->diag >= 0 && !c->letters[a->diag]) c->letters[a->diag] = part & SH_PART_UNIT ? 'U' : 'N';
}

/* ---- arrays ---- */

static bool is_conjugated(const call *c, uint32_t i) {
    const int at = c->routine->places[i].conjugated;
    return at >= 0 && c->args[at].as.i;
}

static sh_status use_matrix(call *c, uint32_t i, sh_tensor *t) {
    const wr_arg *a = &c->routine->args[i];
    const char trans = a->trans < 0 ? 'N' : letter_for(c, a, t, is_conjugated(c, i));
    const int fast = trans != 'N';
    if (a->trans >= 0) c->letters[a->trans] = trans;
    if (a->trans >= 0 && is_conjugated(c, i) != (trans == 'C') && c->entry->dtype >= SH_REAL_DTYPE_END)
        return sh_fail(SH_ERROR_UNSUPPORTED, "%s: %s can't be conjugated by itself", c->routine->op, a->name);
    set_part_letters(c, a, t, trans);
    c->arrays[i] = lies(t, fast) ? t : copied(t, fast, true);
    c->integers[a->step].wide = c->arrays[i] ? leading_dimension(c->arrays[i], fast) : 0;
    return c->arrays[i] ? SH_OK : SH_ERROR_MEMORY;
}

/* A routine may look at no element, or stop, where an increment is not positive. */
static sh_status use_vector(call *c, uint32_t i, sh_tensor *t) {
    const wr_arg *a = &c->routine->args[i];
    const bool fits = t->sizes[0] <= 1 || (a->step < 0 ? t->strides[0] == 1 : t->strides[0] > 0);
    c->arrays[i] = fits ? t : copied(t, 0, true);
    if (!c->arrays[i]) return SH_ERROR_MEMORY;
    if (a->step >= 0) c->integers[a->step].wide = t->sizes[0] <= 1 ? 1 : c->arrays[i]->strides[0];
    return SH_OK;
}

static sh_status check_dtype(const call *c, const wr_arg *a, const sh_tensor *t) {
    const sh_dtype expected = a->real ? wr_real_dtype(c->entry->dtype) : c->entry->dtype;
    if ((sh_dtype)t->dtype == expected) return SH_OK;
    return sh_fail(SH_ERROR_DTYPE, "%s: %s is %s, expected %s", c->routine->op, a->name,
                   sh_dtype_name((sh_dtype)t->dtype), sh_dtype_name(expected));
}

static sh_status use_array(call *c, uint32_t i, sh_tensor *t) {
    const wr_arg *a = &c->routine->args[i];
    SH_TRY(check_dtype(c, a, t));
    if (a->ndim == 2)
        SH_TRY(use_matrix(c, i, t));
    else if (a->ndim == 1)
        SH_TRY(use_vector(c, i, t));
    else
        c->arrays[i] = t;
    if (a->access != WR_IN && c->arrays[i] != t) c->back[i] = t;
    c->words[i] = c->arrays[i]->data;
    if (a->ndim == 1 && a->step >= 0 && c->integers[a->step].wide < 0)
        c->words[i] = c->arrays[i]->data + (t->sizes[0] - 1) * c->integers[a->step].wide * t->element;
    return SH_OK;
}

/* The tensor that the routine is to write: with one, the call's result or target; with several, the argument itself. */
static sh_tensor *written(const call *c, sh_call *of, uint32_t i) {
    const wr_arg *a = &c->routine->args[i];
    sh_tensor *given = sh_value_as_tensor(wr_argument(c->routine, c->args, i));
    if (c->routine->nwritten > 1) {
        int64_t sizes[2] = {a->ndim > 0 ? c->dims[a->dims[0]] : 0, a->ndim > 1 ? c->dims[a->dims[1]] : 0};
        const sh_dtype dtype = a->real ? wr_real_dtype(c->entry->dtype) : c->entry->dtype;
        if (a->ndim && a->dims[0] == WR_DIM_5) sizes[0] = 5;
        return given ? given : sh_tensor_new(dtype, (sh_ints){sizes, a->ndim});
    }
    sh_tensor *to = sh_call_result(of, 0).as.tensor;
    if (a->uplo >= 0 && to != sh_call_target(of) &&
        sh_tensor_set_part(to, c->letters[a->uplo] == 'L' ? SH_PART_LOWER : SH_PART_UPPER) < 0)
        return NULL;
    if (given && to) wr_copy(to, given);
    return to;
}

static sh_status use_arrays(call *c, sh_call *of) {
    const wr_routine *r = c->routine;
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->nargs; i++) {
        const wr_arg *a = &r->args[i];
        if (a->kind != WR_ARRAY) continue;
        sh_tensor *t =
            a->access == WR_IN ? sh_value_as_tensor(wr_argument(r, c->args, i)) : written(c, of, i);
        if (!t) return SH_ERROR_MEMORY;
        SH_TRY(use_array(c, i, t));
        if (a->access != WR_IN && r->nwritten > 1) SH_TRY(sh_call_set_result(of, n++, sh_value_tensor(t)));
    }
    return SH_OK;
}

/* ---- numbers ---- */

static void use_number(call *c, const wr_arg *a, uint32_t i) {
    const wr_place place = c->routine->places[i];
    const double real = sh_value_as_double(c->args[place.value]);
    const double imaginary = place.imaginary < 0 ? 0 : sh_value_as_double(c->args[place.imaginary]);
    wr_result *to = &c->numbers[i];
    switch (a->real ? wr_real_dtype(c->entry->dtype) : c->entry->dtype) {
    case SH_F32: to->s = (float)real; break;
    case SH_F64: to->d = real; break;
    case SH_C64: to->c = (float)real + (float)imaginary * I; break;
    default: to->z = real + imaginary * I;
    }
    c->words[i] = to;
}

/* Letters that are arguments of the op come first: others follow from the matrices. */
static sh_status use_letters(call *c) {
    for (uint32_t i = 0; i < c->routine->nargs; i++) {
        const sh_value v = wr_argument(c->routine, c->args, i);
        if (c->routine->args[i].kind != WR_LETTER) continue;
        c->words[i] = &c->letters[i];
        if (v.tag != SH_TAG_STRING) continue;
        if (!v.as.string[0] || v.as.string[1] || !strchr("NTCULR", v.as.string[0]))
            return sh_fail(SH_ERROR_VALUE, "%s: %s is \"%s\", expected a letter of BLAS", c->routine->op,
                           c->routine->args[i].name, v.as.string);
        c->letters[i] = *v.as.string;
    }
    return SH_OK;
}

/* The lengths as stored: m and n of an operand that is transposed are those before it is. */
static void use_lengths(call *c) {
    int64_t *d = c->dims;
    for (uint32_t i = 0; i < c->routine->nargs; i++) {
        const wr_arg *a = &c->routine->args[i];
        if (a->kind == WR_ARRAY && a->ndim == 2 && a->dims[0] == WR_DIM_r) {
            const bool plain = c->letters[a->trans] == 'N';
            d[WR_DIM_m] = d[plain ? WR_DIM_r : WR_DIM_c];
            d[WR_DIM_n] = d[plain ? WR_DIM_c : WR_DIM_r];
        }
    }
    for (uint32_t i = 0; i < c->routine->nargs; i++) {
        const wr_arg *a = &c->routine->args[i];
        if (a->kind == WR_LENGTH) c->integers[i].wide = d[a->dims[0]];
    }
}

static void use_integers(call *c, int width) {
    for (uint32_t i = 0; i < c->routine->nargs; i++) {
        const int kind = c->routine->args[i].kind;
        if (kind != WR_LENGTH && kind != WR_STEP) continue;
        if (width == 4) c->integers[i].narrow = (int32_t)c->integers[i].wide;
        c->words[i] = &c->integers[i];
    }
}

/* ---- bands and packed matrices by rows ---- are those of the transposed matrix by columns */

static void exchange(sh_value *args, int a, int b) {
    const sh_value kept = args[a];
    args[a] = args[b];
    args[b] = kept;
}

static void exchange_lengths(const call *c, wr_dim first, wr_dim second) {
    int places[2] = {-1, -1};
    for (uint32_t i = 0; i < c->routine->nargs; i++) {
        const wr_arg *a = &c->routine->args[i];
        if (a->kind == WR_LENGTH && a->dims[0] == first) places[0] = c->routine->places[i].value;
        if (a->kind == WR_LENGTH && a->dims[0] == second) places[1] = c->routine->places[i].value;
    }
    if (places[0] >= 0 && places[1] >= 0) exchange(c->args, places[0], places[1]);
}

static sh_status turn_argument(const wr_arg *a, sh_value *v) {
    const char letter = v->tag == SH_TAG_STRING ? *v->as.string : 0;
    const sh_tensor *t = sh_value_as_tensor(*v);
    if (a->storage == WR_BAND && t) {
        const int64_t sizes[2] = {t->sizes[1], t->sizes[0]}, strides[2] = {t->strides[1], t->strides[0]};
        *v = sh_value_tensor(sh_tensor_as_strided(t, (sh_ints){sizes, 2}, (sh_ints){strides, 2}, 0));
        return v->tag == SH_TAG_TENSOR ? SH_OK : sh_error()->code;
    }
    if (strcmp(a->name, "uplo") == 0) *v = sh_value_string(letter == 'U' ? "L" : "U");
    if (strcmp(a->name, "trans") == 0) *v = sh_value_string(letter == 'N' ? "T" : "N");
    return SH_OK;
}

/* The transposed of a Hermitian matrix is its conjugate, that of a conjugated one too: no routine takes these. */
static bool needs_conjugate(const call *c) {
    if (c->entry->dtype < SH_REAL_DTYPE_END) return false;
    for (uint32_t i = 0; i < c->routine->nargs; i++) {
        const sh_value v = wr_argument(c->routine, c->args, i);
        if (v.tag == SH_TAG_STRING && *v.as.string == 'C') return true;
    }
    return strstr(c->routine->op, "::h") != NULL;
}

static sh_status turn_rows(call *c) {
    if (needs_conjugate(c))
        return sh_fail(SH_ERROR_UNSUPPORTED,
                       "%s: by rows, and conjugated, it runs only as the program calls it", c->routine->op);
    for (uint32_t i = 0; i < c->routine->nargs; i++) {
        const int place = c->routine->places[i].value;
        if (place >= 0) SH_TRY(turn_argument(&c->routine->args[i], &c->args[place]));
    }
    exchange_lengths(c, WR_DIM_kl, WR_DIM_ku);
    exchange_lengths(c, WR_DIM_m, WR_DIM_n);
    c->args[c->routine->order] = sh_value_string("C");
    return SH_OK;
}

/* ---- running ---- */

static sh_status prepare(call *c, sh_call *of) {
    const wr_routine *r = c->routine;
    sh_dtype dtype = SH_NO_DTYPE;
    for (uint32_t i = 0; i < r->nargs && !dtype; i++) {
        const sh_tensor *t = sh_value_as_tensor(wr_argument(r, c->args, i));
        if (t) dtype = (sh_dtype)t->dtype;
    }
    c->entry = wr_entry_of(r, dtype);
    if (!c->entry)
        return sh_fail(SH_ERROR_DTYPE, "%s: there is no routine for %s", r->op,
                       dtype ? sh_dtype_name(dtype) : "no tensor");
    c->routine = c->entry->routine;
    if (r->order >= 0 && *c->args[r->order].as.string == 'R') SH_TRY(turn_rows(c));
    SH_TRY(wr_dims(c->routine, c->args, c->dims));
    SH_TRY(use_letters(c));
    SH_TRY(use_arrays(c, of));
    use_lengths(c);
    for (uint32_t i = 0; i < r->nargs; i++)
        if (r->args[i].kind == WR_NUMBER) use_number(c, &c->routine->args[i], i);
    return SH_OK;
}

static void keep_number(const call *c, const wr_result *result, int width, sh_tensor *t) {
    const int64_t index = (width == 8 ? result->i : (int32_t)result->i) - 1;
    memcpy(t->data, c->routine->returns == 'I' ? (const void *)&index : result, t->element);
}

sh_status wr_run_views(sh_call *of, const wr_routine *routine, const wr_library *library) {
    sh_value args[SH_MAX_ARGS];
    call c = {.routine = routine, .args = args};
    char symbol[64];
    wr_result result = {0};
    for (uint32_t i = 0; i < sh_call_nargs(of); i++) args[i] = sh_call_arg(of, i);
    SH_TRY(prepare(&c, of));
    snprintf(symbol, sizeof symbol, "%s%s_%s", library->prefix, c.entry->symbol, library->suffix);
    const wr_function function = library->find(library, symbol);
    if (!function) return sh_fail(SH_ERROR_KERNEL, "%s: no library has %s", routine->op, symbol);
    const int width = wr_integer_width(function, library->suffix);
    use_integers(&c, width);
    for (uint32_t i = c.routine->nargs; i < WR_MAX_WORDS; i++) c.words[i] = (void *)(uintptr_t)1;
    c.entry->fortran(function, c.words, &result);
    for (uint32_t i = 0; i < c.routine->nargs; i++)
        if (c.back[i]) wr_copy(c.back[i], c.arrays[i]);
    if (!c.routine->nwritten) keep_number(&c, &result, width, sh_call_result(of, 0).as.tensor);
    return SH_OK;
}
