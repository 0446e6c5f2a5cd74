/* format.c - PyTorch's printing (torch/_tensor_str.py): one width for all elements, chosen from those that are shown;
 * whole numbers as "1.", scientific notation where the range is wide, dimensions above the threshold cut to their edges. */
#include "ops/format.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dispatch/device_impl.h"
#include "dispatch/no_data.h"
#include "ops/element.h"

enum { NUMBER = 96, PREFIX = 7 /* of "tensor(" */ };

static const sh_print_options standard = {4, 1000, 3, 80, -1};
static sh_print_options the_options = {4, 1000, 3, 80, -1};

void sh_set_print_options(const sh_print_options *options) { the_options = options ? *options : standard; }

typedef struct printer {
    FILE *out;
    const sh_tensor *t;
    sh_print_options options;
    bool summarise, floating, whole, scientific;
    int width;
} printer;

static bool cuts(const printer *p, int64_t size) { return p->summarise && size > 2 * p->options.edge_items; }

/* Visits the elements that will be shown. */
static void each_shown(printer *p, int dim, const char *at,
                       void (*visit)(printer *p, const char *at, void *user), void *user) {
    if (dim == p->t->ndim) {
        visit(p, at, user);
        return;
    }
    const int64_t size = p->t->sizes[dim], step = p->t->strides[dim] * (int64_t)p->t->element,
                  edge = p->options.edge_items;
    for (int64_t i = 0; i < size; i++)
        if (!cuts(p, size) || i < edge || i >= size - edge)
            each_shown(p, dim + 1, at + i * step, visit, user);
}

/* ---- the width ---- */

typedef struct range {
    double low, high;
    bool any;
} range;

static void widen_range(printer *p, const char *at, void *user) {
    range *r = user;
    const double v = sh_load_f64((sh_dtype)p->t->dtype, at), magnitude = fabs(v);
    if (!isfinite(v) || v == 0) return;
    r->low = !r->any || magnitude < r->low ? magnitude : r->low;
    r->high = !r->any || magnitude > r->high ? magnitude : r->high;
    r->any = true;
    p->whole = p->whole && v == ceil(v);
}

/* Python's way, with as many digits as the precision says where they are needed. */
static int put_complex(const printer *p, const char *at, char *text) {
    double parts[2];
    sh_load_parts((sh_dtype)p->t->dtype, at, parts);
    return snprintf(text, NUMBER, "%.*g%+.*gj", p->options.precision + 1, parts[0], p->options.precision + 1,
                    parts[1]);
}

static int put_number(const printer *p, const char *at, char *text) {
    const sh_dtype dtype = (sh_dtype)p->t->dtype;
    if (dtype == SH_B8) return snprintf(text, NUMBER, *(const uint8_t *)at ? "True" : "False");
    if (p->t->flags & SH_TENSOR_COMPLEX) return put_complex(p, at, text);
    if (!p->floating) return snprintf(text, NUMBER, "%" PRId64, sh_load_i64(dtype, at));
    const double v = sh_load_f64(dtype, at);
    if (isnan(v)) return snprintf(text, NUMBER, "nan");
    if (isinf(v)) return snprintf(text, NUMBER, v < 0 ? "-inf" : "inf");
    if (p->scientific) return snprintf(text, NUMBER, "%.*e", p->options.precision, v);
    return p->whole ? snprintf(text, NUMBER, "%.0f.", v)
                    : snprintf(text, NUMBER, "%.*f", p->options.precision, v);
}

/* NaN and infinities do not count for the width of floats, nor do zeros, as in PyTorch. */
static void widen(printer *p, const char *at, void *user) {
    char text[NUMBER];
    (void)user;
    const double v = p->floating ? sh_load_f64((sh_dtype)p->t->dtype, at) : 1;
    if (!isfinite(v) || v == 0) return;
    const int n = put_number(p, at, text);
    p->width = n > p->width ? n : p->width;
}

static void measure(printer *p) {
    range r = {0, 0, false};
    p->floating = sh_dtype_kind_of((sh_dtype)p->t->dtype) == SH_KIND_FLOAT;
    p->whole = true;
    p->width = 1;
    if (p->floating) {
        each_shown(p, 0, p->t->data, widen_range, &r);
        const bool wide = r.any && (r.high / r.low > 1000 || r.high > 1e8 || (!p->whole && r.low < 1e-4));
        p->scientific = p->options.sci_mode < 0 ? wide : p->options.sci_mode != 0;
    }
    each_shown(p, 0, p->t->data, widen, NULL);
}

/* ---- the text ---- */

static void put_element(const printer *p, const char *at) {
    char text[NUMBER];
    put_number(p, at, text);
    fprintf(p->out, "%*s", p->width, text);
}

static void put_blanks(FILE *out, int n) { fprintf(out, "%*s", n, ""); }

/* One dimension, broken into lines of as many elements as fit. */
static void put_vector(const printer *p, int dim, const char *at, int indent) {
    const int64_t size = p->t->sizes[dim], step = p->t->strides[dim] * (int64_t)p->t->element,
                  edge = p->options.edge_items;
    const int fit = (p->options.line_width - indent) / (p->width + 2), per_line = fit > 1 ? fit : 1;
    int64_t shown = 0;
    fputc('[', p->out);
    for (int64_t i = 0; i < size; i++, shown++) {
        const bool gap = cuts(p, size) && i == edge;
        if (shown && shown % per_line == 0) {
            fputs(",\n", p->out);
            put_blanks(p->out, indent + 1);
        } else if (shown) {
            fputs(", ", p->out);
        }
        if (gap)
            fputs(" ...", p->out);
        else
            put_element(p, at + i * step);
        if (gap) i = size - edge - 1;
    }
    fputc(']', p->out);
}

static void put_dimension(const printer *p, int dim, const char *at, int indent) {
    if (dim == p->t->ndim) {
        put_element(p, at);
        return;
    }
    if (dim == p->t->ndim - 1) {
        put_vector(p, dim, at, indent);
        return;
    }
    const int64_t size = p->t->sizes[dim], step = p->t->strides[dim] * (int64_t)p->t->element,
                  edge = p->options.edge_items;
    fputc('[', p->out);
    for (int64_t i = 0; i < size; i++) {
        const bool gap = cuts(p, size) && i == edge;
        if (i) {
            fputc(',', p->out);
            for (int k = dim; k < p->t->ndim - 1; k++) fputc('\n', p->out);
            put_blanks(p->out, indent + 1);
        }
        if (gap)
            fputs("...", p->out);
        else
            put_dimension(p, dim + 1, at + i * step, indent + 1);
        if (gap) i = size - edge - 1;
    }
    fputc(']', p->out);
}

static void put_size(FILE *out, const sh_tensor *t) {
    fputs("size=(", out);
    for (int i = 0; i < t->ndim; i++) fprintf(out, i ? ", %" PRId64 : "%" PRId64, t->sizes[i]);
    fputs(t->ndim == 1 ? ",)" : ")", out);
}

/* A suffix goes on the last line if it fits there. */
static void put_suffixes(FILE *out, const sh_tensor *t, const char *text, int line_width) {
    const sh_dtype dtype = (sh_dtype)t->dtype;
    const bool usual = dtype == SH_F32 || dtype == SH_I64 || dtype == SH_B8, remote = sh__is_remote(t);
    char suffix[96];
    if (usual && !remote) return;
    int n = 0;
    if (remote) n = snprintf(suffix, sizeof suffix, "device='%s'", sh_device_name((sh_device)t->device));
    if (!usual)
        n += snprintf(suffix + n, sizeof suffix - (size_t)n, "%sdtype=torch.%s", remote ? ", " : "",
                      sh_dtype_torch_name(dtype));
    const char *last = strrchr(text, '\n');
    const size_t used = last ? strlen(last + 1) + 2 : strlen(text) + 2;
    if (used + (size_t)n + 2 > (size_t)line_width)
        fprintf(out, ",\n%*s%s", PREFIX, "", suffix);
    else
        fprintf(out, ", %s", suffix);
}

static char *body(const sh_tensor *t, const sh_print_options *options) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out) return NULL;
    fputs("tensor(", out);
    if (t->device == SH_META) {
        fputs("..., device='meta', ", out);
        put_size(out, t);
    } else if (!t->numel) {
        fputs("[]", out);
        if (t->ndim != 1) {
            fputs(", ", out);
            put_size(out, t);
        }
    } else {
        printer p = {.out = out, .t = t, .options = *options, .summarise = t->numel > options->threshold};
        measure(&p);
        put_dimension(&p, 0, t->data, PREFIX);
    }
    return fclose(out) == 0 ? text : (free(text), NULL);
}

char *sh_tensor_text(const sh_tensor *t) {
    if (sh__error_pending()) return NULL;
    if (!t) {
        sh_fail(SH_ERROR_NULL, "sh_tensor_text: the tensor is NULL");
        return NULL;
    }
    if (sh__is_traced(t)) {
        sh__no_data(t, "sh_tensor_text");
        return NULL;
    }
    SH_SCOPE_HERE;
    const sh_print_options options = the_options;
    const sh_tensor *near = sh__is_remote(t) ? sh__on_host(t, "sh_tensor_text") : t;
    if (!near) return NULL;
    char *text = NULL, *start = body(near, &options);
    size_t size;
    FILE *out = start ? open_memstream(&text, &size) : NULL;
    if (out) {
        fputs(start, out);
        put_suffixes(out, t, start, options.line_width);
        fputc(')', out);
        if (fclose(out) != 0) text = NULL;
    }
    free(start);
    if (!text) sh_fail(SH_ERROR_MEMORY, "sh_tensor_text: out of memory");
    return text;
}

sh_status sh_print(FILE *out, const sh_tensor *t) {
    char *text = sh_tensor_text(t);
    if (!text) return sh_error()->code;
    const bool written = fprintf(out, "%s\n", text) >= 0;
    free(text);
    return written ? SH_OK : sh_fail(SH_ERROR_FILE, "sh_print: can't write");
}
