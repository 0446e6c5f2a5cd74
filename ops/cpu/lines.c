/* lines.c - walks over the lines along an axis (lines.h). */
#include "ops/cpu/lines.h"

#include "ops/iter.h"
#include "ops/promote.h"

enum { SHORT_LINE = 16 };

/* ---- pieces ---- */

static const sh_axis *axis_of_piece(const sh_lines *l) {
    return l->across ? sh__axes_last(&l->others) : &l->line;
}
static int64_t first_of(const sh_lines *l, int64_t piece, int64_t stride) {
    return (l->across ? piece : piece * SH_LINE_PIECE) * stride;
}

const void *sh__piece_load(const sh_lines *l, const char *x, int64_t piece, int64_t n, void *buffer) {
    const char *at = x + first_of(l, piece, l->line.in) * (int64_t)l->self->element;
    return sh__load(l->self, at, axis_of_piece(l)->in, sh__piece_size(l, piece, n), l->as, l->type, buffer);
}

void *sh__piece_target(const sh_lines *l, char *y, int64_t piece, void *buffer) {
    if ((sh_dtype)l->r->dtype != l->type || axis_of_piece(l)->out != 1) return buffer;
    return y + first_of(l, piece, l->line.out) * (int64_t)l->r->element;
}

void sh__piece_store(const sh_lines *l, char *y, int64_t piece, int64_t n, const void *numbers) {
    char *at = y + first_of(l, piece, l->line.out) * (int64_t)l->r->element;
    if (at != numbers)
        sh__store(l->r, at, axis_of_piece(l)->out, sh__piece_size(l, piece, n), l->type, numbers);
}

/* ---- lines ---- */

static void find_axes(sh_lines *l, int axis) {
    const sh_tensor *self = l->self, *r = l->r;
    l->line =
        self->ndim ? (sh_axis){self->sizes[axis], self->strides[axis], r->strides[axis]} : (sh_axis){1, 1, 1};
    l->others.n = 0;
    for (int i = 0; i < self->ndim; i++)
        if (i != axis && self->sizes[i] != 1)
            l->others.at[l->others.n++] = (sh_axis){self->sizes[i], self->strides[i], r->strides[i]};
    sh__axes_sort(&l->others);
    sh__axes_join(&l->others);
    const sh_axis *last = sh__axes_last(&l->others);
    l->across = last->size > 1 && (sh__axis_reach(last) < sh__axis_reach(&l->line) ||
                                   (l->line.size < SHORT_LINE && last->size >= SHORT_LINE));
}

/* Lines group to group + SH_LINE_PIECE of the last axis, for one position on the others. */
static void make_group(const sh_lines *l, int64_t unit, int64_t groups) {
    const sh_axis *last = sh__axes_last(&l->others);
    const int64_t first = unit % groups * SH_LINE_PIECE, left = last->size - first;
    const int64_t n = left < SH_LINE_PIECE ? left : SH_LINE_PIECE;
    int64_t in = first * last->in, out = first * last->out, rest = unit / groups;
    for (int i = l->others.n - 1; i-- > 0;) {
        const int64_t index = rest % l->others.at[i].size;
        rest /= l->others.at[i].size;
        in += index * l->others.at[i].in;
        out += index * l->others.at[i].out;
    }
    for (int64_t i = 0; i < n; i += l->across ? n : 1)
        l->make(l, l->self->data + (in + i * last->in) * (int64_t)l->self->element,
                l->r->data + (out + i * last->out) * (int64_t)l->r->element, l->across ? n : 1);
}

sh_status sh__lines(sh_lines *l, int64_t dim) {
    int axis;
    SH_TRY(sh_wrap_dim("line", dim, l->self->ndim, &axis));
    if (l->self->numel == 0) return SH_OK;
    find_axes(l, axis);
    const int64_t size = sh__axes_last(&l->others)->size, groups = (size + SH_LINE_PIECE - 1) / SH_LINE_PIECE;
    const int64_t units = l->self->numel / l->line.size / size * groups;
    const int threads = units > 1 ? sh__threads(l->self->numel) : 1;
    if (threads == 1) {
        for (int64_t unit = 0; unit < units; unit++) make_group(l, unit, groups);
        return SH_OK;
    }
    SH_PARALLEL(threads)
    for (int64_t unit = 0; unit < units; unit++) make_group(l, unit, groups);
    return SH_OK;
}
