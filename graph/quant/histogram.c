/* histogram.c - the observer that keeps a histogram and chooses the range with the least squared error.
 *
 * HistogramObserver of torch/ao/quantization/observer.py, after NormMinimization::NonlinearQuantizationParamsSearch of
 * caffe2/quantization/server/norm_minimization.cc. What has 32 bits there has 32 bits here, so that the same bins are
 * chosen. As in torch 1.13 a histogram's edges are its range truncated to integers (or the range itself where that leaves
 * nothing), while its bins are taken to divide the range: elements beyond the edges are not counted.
 *
 * Histograms of different ranges are joined on a finer grid, on which the old one starts at a whole cell. Torch lays that
 * grid out; here the sums over it come from the bins. */
#include <math.h>

#include "dispatch/memory_impl.h"
#include "graph/quant/observer_impl.h"

static float *counts_of(const sh_module *observer) {
    return sh_tensor_data(sh_module_buffer(observer, "histogram"));
}

/* ---- counting ---- torch.histc */

/* The bin at `place` of them. NaN comes of edges without room between: 1e9 - 1 and 1e9 + 1 are one float. */
static int64_t bin_at(float place, int64_t bins) {
    if (!(place > 0)) return 0;
    return place < (float)bins ? (int64_t)place : bins - 1;
}

/* Adds the elements of x between the edges to `counts`. */
static void count(const sh_tensor *x, sh_range edges, float *counts, int64_t bins) {
    const float *data = sh_tensor_data(x);
    const int64_t n = sh_tensor_numel(x);
    const float width = edges.max - edges.min;
    for (int64_t i = 0; i < n; i++) {
        if (data[i] >= edges.min && data[i] <= edges.max)
            counts[bin_at((data[i] - edges.min) * (float)bins / width, bins)] += 1;
    }
}

static sh_range edges_for(sh_range range, const sh_tensor *x) {
    sh_range edges = {truncf(range.min), truncf(range.max)};
    if (edges.min == edges.max) edges = sh__range_of(x);
    if (edges.min == edges.max) edges = (sh_range){edges.min - 1, edges.max + 1};
    return edges;
}

/* ---- joining ---- */

typedef struct grid {
    sh_range range; /* of the joined histogram */
    int64_t down;   /* cells that one of its bins has; one of the old histogram's has upsample_rate */
    int64_t start;  /* the cell that the old histogram begins at */
} grid;

/* False where the old range is too narrow for a grid. Only max is moved outwards, so that what is one-sided stays so. */
static bool lay_grid(const sh_observer_options *o, sh_range was, sh_range joined, grid *g) {
    const float cell = (was.max - was.min) / (float)(o->bins * o->upsample_rate);
    const float bin = (float)o->bins * cell;
    const float ratio = (joined.max - joined.min) / bin;
    if (!(ratio < 0x1p40f)) return false;
    g->down = (int64_t)ceilf(ratio);
    const float more = (float)g->down * bin - (joined.max - joined.min);
    g->range = (sh_range){joined.min, joined.max + more};
    g->start = (int64_t)nearbyintf((was.min - joined.min) / cell);
    return true;
}

/* How much of the old histogram lies before `cell`, times upsample_rate. `sums` has the sum of the bins before each. */
static double sum_before(const sh_observer_options *o, const grid *g, const float *old, const double *sums,
                         int64_t cell) {
    const int64_t at = cell - g->start;
    if (at <= 0) return 0;
    const int64_t bin = at / o->upsample_rate;
    if (bin >= o->bins) return sums[o->bins] * (double)o->upsample_rate;
    return sums[bin] * (double)o->upsample_rate + (double)old[bin] * (double)(at % o->upsample_rate);
}

static sh_status join(const sh_observer_options *o, const grid *g, const float *old, float *counts) {
    double *sums = sh__alloc((size_t)(o->bins + 1) * sizeof *sums);
    if (!sums) return SH_ERROR_MEMORY;
    sums[0] = 0;
    for (int64_t i = 0; i < o->bins; i++) sums[i + 1] = sums[i] + (double)old[i];
    float before = 0;
    for (int64_t i = 0; i < o->bins; i++) {
        const double upto = sum_before(o, g, old, sums, (i + 1) * g->down);
        counts[i] += (float)((upto - (double)before) / (double)o->upsample_rate);
        before = (float)upto;
    }
    sh__free(sums);
    return SH_OK;
}

/* ---- taking in ---- */

static sh_status count_anew(sh_module *observer, const sh_tensor *x, sh_range range, float *counts) {
    count(x, edges_for(range, x), counts, sh__observer_options(observer)->bins);
    return sh__observer_set_range(observer, &range.min, &range.max, 1);
}

static sh_status count_more(sh_module *observer, const sh_tensor *x, sh_range was, float *counts) {
    const sh_observer_options *o = sh__observer_options(observer);
    const sh_range now = sh__range_of(x);
    const sh_range joined = {fminf(now.min, was.min), fmaxf(now.max, was.max)};
    const float *old = counts_of(observer);
    grid g;
    if (!lay_grid(o, was, joined, &g)) return count_anew(observer, x, now, counts);
    count(x, edges_for(g.range, x), counts, o->bins);
    if (g.range.min == was.min && g.range.max == was.max)
        for (int64_t i = 0; i < o->bins; i++) counts[i] += old[i];
    else
        SH_TRY(join(o, &g, old, counts));
    return sh__observer_set_range(observer, &g.range.min, &g.range.max, 1);
}

/* What has one value only is forgotten when more comes, as torch does. */
sh_status sh__histogram_observe(sh_module *observer, const sh_tensor *x) {
    const sh_range was = sh__observer_range(observer);
    const int64_t bins = sh__observer_options(observer)->bins;
    float *counts = sh__calloc((size_t)bins, sizeof *counts);
    if (!counts) return SH_ERROR_MEMORY;
    const sh_status status = was.min < was.max ? count_more(observer, x, was, counts)
                                               : count_anew(observer, x, sh__range_of(x), counts);
    for (int64_t i = 0; i < bins && status >= 0; i++) counts_of(observer)[i] = counts[i];
    sh__free(counts);
    return status;
}

/* ---- choosing ---- */

/* The integral of x^2 from begin to end, times density. */
static float norm(float begin, float end, float density) {
    return density * ((end * end * end - begin * begin * begin) / 3);
}

static float floor_of_ratio(float a, float b) {
    const float rest = fmodf(a, b);
    float ratio = (a - rest) / b;
    if (rest != 0 && (rest < 0) != (b < 0)) ratio -= 1;
    if (ratio == 0) return ratio;
    const float whole = floorf(ratio);
    return ratio - whole > 0.5f ? whole + 1 : whole;
}

enum { STORED = 256 }; /* values of the dtype */

static float stored_bin(float at, float width) {
    return fminf(fmaxf(floor_of_ratio(at, width), 0), STORED - 1);
}

/* The squared error if the bins from first to last are spread over the stored values and the others go to the nearest. */
static double error_of(const sh_observer_options *o, sh_range range, const float *counts, int64_t first,
                       int64_t last) {
    const double bin = ((double)range.max - (double)range.min) / (double)o->bins;
    const double stored = bin * (double)(last - first + 1) / STORED;
    const float w = (float)bin, s = (float)stored, half = (float)(stored / 2);
    double sum = 0;
    if (stored == 0) return 0;
    for (int64_t i = 0; i < o->bins; i++) {
        const float begin = (float)(i - first) * w, end = begin + w, density = counts[i] / w;
        const float bin_of_begin = stored_bin(begin, s), bin_of_end = stored_bin(end, s);
        float e = norm(begin - (bin_of_begin + 0.5f) * s, half, density);
        e += (bin_of_end - bin_of_begin - 1) * norm(-half, half, density);
        e += norm(-half, end - (bin_of_end * s + half), density);
        sum += (double)e;
    }
    return (double)(float)sum;
}

/* A search: bins from first to last are left. */
typedef struct search {
    const float *sums; /* of the bins up to and with each */
    double total, alpha, beta;
    int64_t first, last;
} search;

/* Moves the bound that has more to go by one step of the quantiles: to *first and *last. */
static void step(search *s, int64_t *first, int64_t *last) {
    const double size = 1e-5, alpha = s->alpha + size, beta = s->beta - size;
    const float low = (float)(alpha * s->total), high = (float)(beta * s->total);
    int64_t l = s->first, r = s->last;
    while (l < s->last && s->sums[l] < low) l++;
    while (r > s->first && s->sums[r] > high) r--;
    *first = s->first;
    *last = s->last;
    if (l - s->first > s->last - r) {
        *first = l;
        s->alpha = alpha;
    } else {
        *last = r;
        s->beta = beta;
    }
}

static void narrow(const sh_observer_options *o, sh_range range, const float *counts, search *s) {
    double least = INFINITY;
    while (s->alpha < s->beta) {
        int64_t first, last;
        step(s, &first, &last);
        if (first == s->first && last == s->last) continue;
        const double error = error_of(o, range, counts, first, last);
        if (error > least) return;
        least = error;
        s->first = first;
        s->last = last;
    }
}

sh_status sh__histogram_range(const sh_module *observer, float *min, float *max) {
    const sh_observer_options *o = sh__observer_options(observer);
    const float *counts = counts_of(observer);
    const sh_range range = sh__observer_range(observer);
    float *sums = sh__alloc((size_t)o->bins * sizeof *sums);
    if (!sums) return SH_ERROR_MEMORY;
    double sum = 0;
    for (int64_t i = 0; i < o->bins; i++) sums[i] = (float)(sum += (double)counts[i]);
    search s = {.sums = sums, .total = (double)(float)sum, .beta = 1, .last = o->bins - 1};
    narrow(o, range, counts, &s);
    sh__free(sums);
    const float bin = (range.max - range.min) / (float)o->bins;
    *min = range.min + bin * (float)s.first;
    *max = range.min + bin * (float)(s.last + 1);
    return SH_OK;
}
