/* show.c - a call of a program's as an op on views of its memory.
 *
 * Nothing is copied: leading dimensions and increments are strides, a transposed operand has its strides swapped, a negative
 * increment starts at the other end. Of a matrix with a letter uplo only that triangle counts; what beta = 0 makes an output
 * is no input. What the routine would complain about, or can't be shown, goes straight to the real function. */
#include <complex.h>
#include <ctype.h>
#include <string.h>

#include "dispatch/tensor_impl.h"
#include "interpose/machine.h"
#include "modes/environment.h"

/* ---- reading ---- */

static int64_t read_integer(const wr_call *w, const void *word) {
    return w->width == 8 ? *(const int64_t *)word : *(const int32_t *)word;
}

static char letter_of_enum(int32_t value) {
    static const struct {
        int32_t value;
        char letter;
    } letters[] = {{111, 'N'}, {112, 'T'}, {113, 'C'}, {121, 'U'}, {122, 'L'},
                   {131, 'N'}, {132, 'U'}, {141, 'L'}, {142, 'R'}};
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if (letters[i].value == value) return letters[i].letter;
    return 0;
}

static bool read_letter(wr_call *w, const wr_arg *a, uint32_t i) {
    const char *allowed = *a->name == 'u' ? "UL" : *a->name == 's' ? "LR" : *a->name == 'd' ? "NU" : "NTC";
    const void *word = w->words[i];
    const int letter =
        w->binding->cblas ? letter_of_enum(*(const int32_t *)word) : toupper(*(const unsigned char *)word);
    w->numbers[i] = letter;
    return letter && strchr(allowed, letter);
}

static int64_t letter_named(const wr_call *w, const char *name) {
    const wr_routine *r = w->binding->entry->routine;
    for (uint32_t i = 0; i < r->nargs; i++)
        if (strcmp(r->args[i].name, name) == 0) return w->numbers[i];
    return 0;
}

static void derive(wr_call *w) {
    int64_t *d = w->dims;
    const int64_t trans = letter_named(w, "trans");
    d[WR_DIM_s] = letter_named(w, "side") == 'L' ? d[WR_DIM_m] : d[WR_DIM_n];
    d[WR_DIM_r] = trans == 'N' ? d[WR_DIM_m] : d[WR_DIM_n];
    d[WR_DIM_c] = trans == 'N' ? d[WR_DIM_n] : d[WR_DIM_m];
    d[WR_DIM_p] = d[WR_DIM_n] * (d[WR_DIM_n] + 1) / 2;
    d[WR_DIM_b] = d[WR_DIM_k] + 1;
    d[WR_DIM_g] = d[WR_DIM_kl] + d[WR_DIM_ku] + 1;
    d[WR_DIM_5] = 5;
}

static bool read_order(wr_call *w) {
    const wr_routine *r = w->binding->entry->routine;
    const void *order = w->binding->cblas ? w->words[r->nargs] : NULL;
    w->row_major = order && *(const int32_t *)order == 101;
    return !order || w->row_major || *(const int32_t *)order == 102;
}

/* gemv and gbmv leave y as it is, even for a beta of 0, where the matrix has no columns. */
static bool does_nothing(const wr_call *w) {
    const wr_routine *r = w->binding->entry->routine;
    for (uint32_t i = 0; i < r->nargs; i++)
        if (r->args[i].kind == WR_ARRAY && r->args[i].ndim == 1 && r->args[i].dims[0] == WR_DIM_c)
            return w->dims[WR_DIM_c] == 0;
    return false;
}

bool wr_read(wr_call *w) {
    const wr_routine *r = w->binding->entry->routine;
    if (!read_order(w)) return false;
    for (uint32_t i = 0; i < r->nargs; i++) {
        const wr_arg *a = &r->args[i];
        if (a->kind != WR_ARRAY && !w->words[i]) return false;
        if (a->kind == WR_LETTER && !read_letter(w, a, i)) return false;
        if (a->kind == WR_LENGTH || a->kind == WR_STEP) w->numbers[i] = read_integer(w, w->words[i]);
        if (a->kind == WR_LENGTH && (w->dims[a->dims[0]] = w->numbers[i]) < 0) return false;
    }
    derive(w);
    return !does_nothing(w);
}

/* ---- arrays ---- */

typedef struct view {
    char *data;
    int64_t sizes[2], strides[2];
    unsigned part;
} view;

static void release_nothing(void *context) { (void)context; }

wr_call *wr_call_of(const sh_tensor *t) {
    const sh_storage *s = t ? t->storage : NULL;
    return s && s->kind == SH_STORAGE_FOREIGN && s->u.deleter == release_nothing ? s->context : NULL;
}

/* An increment of 0 reads one element again and again, and can't be written; below, the last element comes first. What takes
 * one vector alone stops at either. */
static bool show_vector(const wr_call *w, const wr_arg *a, view *v, size_t element) {
    const int64_t step = a->step < 0 ? 1 : w->numbers[a->step], n = w->dims[a->dims[0]];
    v->sizes[0] = n;
    v->strides[0] = step;
    if (step < 0 && n > 1) v->data += (n - 1) * -step * (int64_t)element;
    return step > 0 || (w->binding->entry->routine->narrays > 1 && (step || a->access == WR_IN));
}

/* Rows of a band in row order are those of the matrix. */
static void show_band(const wr_call *w, const wr_arg *a, view *v) {
    const bool general = a->dims[0] == WR_DIM_g;
    const int64_t lines = w->dims[general && w->row_major ? WR_DIM_m : WR_DIM_n];
    v->sizes[w->row_major] = w->dims[a->dims[0]];
    v->sizes[!w->row_major] = lines;
}

static bool show_matrix(const wr_call *w, const wr_arg *a, view *v) {
    const bool transposed = a->trans >= 0 && w->numbers[a->trans] != 'N';
    const int side_by_side = w->row_major != transposed; /* the dimension whose elements lie side by side */
    const int64_t step = w->numbers[a->step];
    v->sizes[0] = w->dims[a->dims[0]];
    v->sizes[1] = w->dims[a->dims[1]];
    if (a->storage == WR_BAND) show_band(w, a, v);
    v->strides[side_by_side] = 1;
    v->strides[!side_by_side] = step;
    if (a->uplo >= 0) v->part = (w->numbers[a->uplo] == 'L') != transposed ? SH_PART_LOWER : SH_PART_UPPER;
    if (a->diag >= 0 && w->numbers[a->diag] == 'U') v->part |= SH_PART_UNIT;
    return step >= 1 && step >= v->sizes[side_by_side];
}

sh_dtype wr_real_dtype(sh_dtype dtype) {
    return dtype == SH_C64 ? SH_F32 : dtype == SH_C128 ? SH_F64 : dtype;
}

static sh_tensor *show_array(wr_call *w, const wr_arg *a, uint32_t i) {
    const sh_dtype data = w->binding->entry->dtype, dtype = a->real ? wr_real_dtype(data) : data;
    view v = {.data = w->words[i]};
    if (a->ndim == 1 && !show_vector(w, a, &v, sh_dtype_size(dtype))) return NULL;
    if (a->ndim == 2 && !show_matrix(w, a, &v)) return NULL;
    sh_tensor *t = sh_from_data(v.data, dtype, (sh_ints){v.sizes, a->ndim}, (sh_ints){v.strides, a->ndim},
                                release_nothing, w);
    if (t && v.part && sh_tensor_set_part(t, v.part) < 0) return NULL;
    return t;
}

bool wr_make_arrays(wr_call *w) {
    const wr_routine *r = w->binding->entry->routine;
    for (uint32_t i = 0; i < r->nargs; i++)
        if (r->args[i].kind == WR_ARRAY && !(w->arrays[i] = show_array(w, &r->args[i], i))) return false;
    return true;
}

/* ---- arguments ---- */

static double _Complex number_at(const wr_call *w, const wr_arg *a, uint32_t i) {
    const void *at = w->words[i];
    const sh_dtype data = w->binding->entry->dtype;
    switch (a->real ? wr_real_dtype(data) : data) {
    case SH_F32: return *(const float *)at;
    case SH_F64: return *(const double *)at;
    case SH_C64: return *(const float _Complex *)at;
    default: return *(const double _Complex *)at;
    }
}

static const char *text_of(int64_t letter) {
    static const char texts[][2] = {"N", "T", "C", "U", "L", "R"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i][0] == letter) return texts[i];
    return "";
}

static bool is_zero(const wr_call *w, const char *name) {
    const wr_routine *r = w->binding->entry->routine;
    for (uint32_t i = 0; i < r->nargs; i++)
        if (strcmp(r->args[i].name, name) == 0) return number_at(w, &r->args[i], i) == 0;
    return false;
}

/* A number that is the default stays as the schema has it, so that it isn't printed. */
static void put_number(sh_value *at, double number) {
    if (at->tag == SH_TAG_NONE || sh_value_as_double(*at) != number) *at = sh_value_float(number);
}

static void put_argument(wr_call *w, const wr_arg *a, uint32_t i, wr_place place) {
    sh_value *args = w->args;
    if (a->kind == WR_ARRAY && place.conjugated >= 0)
        args[place.conjugated] =
            sh_value_flag(w->numbers[a->trans] == 'C' && w->binding->entry->dtype >= SH_REAL_DTYPE_END);
    if (a->kind == WR_NUMBER) {
        const double _Complex number = number_at(w, a, i);
        put_number(&args[place.value], creal(number));
        if (place.imaginary >= 0) put_number(&args[place.imaginary], cimag(number));
    } else if (place.value < 0) {
        return;
    } else if (a->kind == WR_LETTER) {
        args[place.value] = sh_value_string(text_of(w->numbers[i]));
    } else if (a->kind == WR_LENGTH) {
        args[place.value] = sh_value_int(w->numbers[i]);
    } else if (a->access == WR_BETA && is_zero(w, "beta")) {
        args[place.value] = sh_none();
    } else {
        args[place.value] = sh_value_tensor(w->arrays[i]);
    }
}

static void make_arguments(wr_call *w) {
    const wr_routine *r = w->binding->entry->routine;
    const sh_schema *schema = sh_op_schema(r->of);
    for (uint32_t i = 0; i < schema->nparams; i++)
        w->args[i] = schema->params[i].has_default ? schema->params[i].value : sh_none();
    for (uint32_t i = 0; i < r->nargs; i++) {
        put_argument(w, &r->args[i], i, r->places[i]);
        if (r->nwritten == 1 && r->args[i].kind == WR_ARRAY && r->args[i].access != WR_IN)
            w->out = w->arrays[i];
    }
    if (r->order >= 0) w->args[r->order] = sh_value_string(w->row_major ? "R" : "C");
}

/* ---- results ---- */

/* What a number's result tensor holds goes where the program expects it. */
static void return_number(const wr_call *w, const sh_tensor *t) {
    const wr_routine *r = w->binding->entry->routine;
    void *sub = w->binding->cblas ? w->words[r->nargs + 1] : NULL;
    memcpy(sub ? sub : w->result, t->data, t->element);
    if (r->returns == 'I' && !w->binding->cblas) w->result->i++; /* Fortran counts from 1 */
}

/* Modes may have put other tensors in place of those that the program's memory is. */
static void return_results(const wr_call *w, const sh_value *results) {
    const wr_routine *r = w->binding->entry->routine;
    uint32_t n = 0;
    if (r->nwritten == 0 && results[0].tag == SH_TAG_TENSOR) return_number(w, results[0].as.tensor);
    for (uint32_t i = 0; i < r->nargs && r->nwritten > 1; i++) {
        if (r->args[i].kind != WR_ARRAY || r->args[i].access == WR_IN) continue;
        sh_tensor *result = results[n++].as.tensor;
        if (result != w->arrays[i]) wr_copy(w->arrays[i], result);
    }
}

static void tell(const wr_call *w) {
    const sh_error_info *error = sh_error();
    if (error && error->code != SH_ERROR_FINDING)
        sh_warn("%s%s: %s", w->binding->symbol, w->ran ? "" : " ran unseen", error->message);
    sh_clear_error();
}

/* Kept views point to a call no more. */
static void part_with(const wr_call *w) {
    for (uint32_t i = 0; i < WR_MAX_ARGS; i++)
        if (w->arrays[i] && w->arrays[i]->storage) w->arrays[i]->storage->context = NULL;
}

static void call_op(wr_call *w) {
    sh_value args[SH_MAX_ARGS], results[SH_MAX_RESULTS];
    SH_SCOPE {
        if (wr_make_arrays(w)) {
            make_arguments(w);
            memcpy(args, w->args, sizeof args);
            const sh_status status =
                sh_op_call(w->binding->entry->routine->of, args, w->out, results, w->site);
            if (status >= 0) {
                return_results(w, results);
                w->ran = true;
            }
        }
        if (sh_error()) tell(w);
        part_with(w);
    }
}

void wr_intercept(wr_binding *binding, wr_target *target, void **words, wr_result *result, const void *site) {
    wr_call w = {.binding = binding, .target = target, .words = words, .result = result, .site = site};
    sh__environment_renew();
    w.width = wr_target_width(target, binding->suffix);
    if (wr_read(&w)) call_op(&w);
    if (!w.ran)
        (binding->cblas ? binding->entry->cblas : binding->entry->fortran)(target->function, words, result);
}
