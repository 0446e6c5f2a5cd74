/* quantized_linear.c - products with weights of i8 in the cpu backend.
 *
 * Many rows are multiplied by oneDNN, where that is exact, some at a time so that their sums stay in the cache. It
 * copies the weights first, so few rows are done sooner here, and other bytes are, whatever their number.
 *
 * The rows of x are widened once, their zero point taken off; weights are widened as they are read, so that they need
 * no other layout and nothing is kept from call to call. A task is a few rows by some outputs: those rows stay in the
 * level-1 cache while the weights pass, each read once for all of them. */
#include "dispatch/memory_impl.h"
#include "ops/cpu/onednn.h"
#include "ops/cpu/quantized_bytes.h"
#include "ops/cpu/quantized_table.h"
#include "ops/cpu/widen.h"
#include "ops/kernels.h"

enum {
    ROWS = 8,
    OUTPUTS = 64,
    WORK = 32,        /* products of one element's worth of work */
    MANY_ROWS = 32,   /* for oneDNN */
    SUMS = 128 * 1024 /* of it at a time */
};

typedef struct job {
    const sh_quantized_table *loops;
    const sh_requantize *to;
    const int16_t *x; /* [rows, depth] */
    const int8_t *weight;
    int64_t rows, depth, outputs, element;
    char *result;
} job;

/* ---- by ourselves ---- */

static void multiply_block(const job *j, int64_t first_row, int64_t first_output) {
    int32_t sums[ROWS][OUTPUTS];
    const int64_t rows = j->rows - first_row < ROWS ? j->rows - first_row : ROWS,
                  left = j->outputs - first_output, n = left < OUTPUTS ? left : OUTPUTS;
    const int8_t *weight = j->weight + first_output * j->depth;
    j->loops->dots(j->x + first_row * j->depth, rows, weight, j->depth, n, sums[0], OUTPUTS);
    for (int64_t i = 0; i < rows; i++)
        j->loops->finish(j->to, first_output, sums[i], n,
                         j->result + ((first_row + i) * j->outputs + first_output) * j->element);
}

static int threads_for(const job *j) { return sh__threads(j->rows * j->outputs * j->depth / WORK); }

static void multiply(const job *j) {
    const int64_t row_blocks = (j->rows + ROWS - 1) / ROWS, columns = (j->outputs + OUTPUTS - 1) / OUTPUTS;
    SH_PARALLEL(threads_for(j))
    for (int64_t t = 0; t < row_blocks * columns; t++)
        multiply_block(j, t / columns * ROWS, t % columns * OUTPUTS);
}

static sh_status run(job *j, const sh_tensor *x, int64_t zero_point) {
    size_t capacity;
    int16_t *wide = sh__block_alloc((size_t)(x->numel + 1) * sizeof *wide, &capacity);
    if (!wide) return SH_ERROR_MEMORY;
    j->loops->widen(wide, x->data, 1, x->dtype == SH_I8, (int32_t)zero_point, x->numel);
    j->x = wide;
    multiply(j);
    sh__block_free(wide, capacity);
    return SH_OK;
}

/* ---- by oneDNN ---- */

static void finish_rows(const job *j, const int32_t *sums, int64_t first, int64_t rows, int threads) {
    SH_PARALLEL(threads)
    for (int64_t i = 0; i < rows; i++)
        j->loops->finish(j->to, 0, sums + i * j->outputs, j->outputs,
                         j->result + (first + i) * j->outputs * j->element);
}

static sh_status run_onednn(const job *j, const sh_quantized_bytes *x) {
    const int64_t fit = SUMS / j->outputs, at_once = fit < MANY_ROWS ? MANY_ROWS : fit;
    const sh_blas_matrix weight = {j->weight, j->depth, true};
    const int threads = threads_for(j);
    sh_status status = SH_OK;
    size_t capacity;
    int32_t *sums = sh__block_alloc((size_t)(at_once * j->outputs) * sizeof *sums, &capacity);
    if (!sums) return SH_ERROR_MEMORY;
    for (int64_t i = 0; i < j->rows && status >= 0; i += at_once) {
        const int64_t rows = j->rows - i < at_once ? j->rows - i : at_once;
        const sh_blas_matrix part = {x->data + i * j->depth, j->depth, false};
        status = sh_onednn_status(
            sh_onednn_u8_i8(threads, rows, j->outputs, j->depth, part, x->zero_point, weight, sums),
            "gemm_u8s8s32");
        if (status >= 0) finish_rows(j, sums, i, rows, threads);
    }
    sh__block_free(sums, capacity);
    return status;
}

static sh_status choose(job *j, const sh_tensor *x, int64_t zero_point) {
    sh_quantized_bytes bytes;
    if (j->rows < MANY_ROWS || !j->depth) return run(j, x, zero_point);
    sh_status status = sh_quantized_bytes_of(x, zero_point, &bytes);
    if (status >= 0) status = bytes.data ? run_onednn(j, &bytes) : run(j, x, zero_point);
    sh_quantized_bytes_drop(&bytes);
    return status;
}

sh_status sh_cpu_quantized_linear(sh_tensor *r, sh_tensor *input, double input_scale,
                                  int64_t input_zero_point, sh_tensor *weight, sh_tensor *weight_scales,
                                  sh_tensor *bias, double output_scale, int64_t output_zero_point,
                                  sh_dtype output_dtype, bool relu) {
    const sh_quantized_output output = {output_scale, output_zero_point, output_dtype, relu};
    sh_requantize to;
    sh_tensor *x, *w = NULL;
    SH_TRY(sh_requantize_make(&to, "quantized_linear", input_scale, weight_scales, bias, weight->sizes[0],
                              &output));
    sh_status status = sh_aside_contiguous(input, (sh_dtype)input->dtype, &x);
    if (status >= 0) status = sh_aside_contiguous(weight, SH_I8, &w);
    if (status >= 0 && r->numel) {
        job j = {.loops = sh_quantized_loops(),
                 .to = &to,
                 .weight = (const int8_t *)w->data,
                 .depth = weight->sizes[1],
                 .outputs = weight->sizes[0],
                 .element = r->element,
                 .result = r->data};
        j.rows = r->numel / j.outputs;
        status = choose(&j, x, input_zero_point);
    }
    sh_aside_drop(x);
    sh_aside_drop(w);
    sh_requantize_free(&to);
    return status;
}
