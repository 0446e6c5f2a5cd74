/* ir.h - what the suites on saved graphs share: the same text again, the same bits again. */
#ifndef SH_TESTS_IR_H
#define SH_TESTS_IR_H

#include "tests/fx_nets.h"
#include "tests/graphs.h"

/* Frees both. */
static inline bool is_text_again(char *text, char *again) {
    const bool same = again && strcmp(text, again) == 0;
    if (!same)
        fprintf(stderr, "%s\n%s\nbecame\n%s\n", message(), text ? text : "nothing",
                again ? again : "nothing");
    free(again);
    free(text);
    return same;
}

/* Parsed and written again the text is the same; frees it. */
static inline bool graph_comes_back(char *text) {
    sh_graph *graph = text ? sh_graph_parse(text, strlen(text), "it") : NULL;
    const bool same = is_text_again(text, graph ? sh_graph_ir(graph) : NULL);
    sh_graph_free(graph);
    return same;
}

static inline bool module_comes_back(char *text) {
    sh_module *module = text ? sh_graph_module_parse(text, strlen(text), "it") : NULL;
    const bool same = is_text_again(text, module ? sh_graph_module_ir(module) : NULL);
    sh_module_release(module);
    return same;
}

static inline bool same_tensor(const sh_tensor *a, const sh_tensor *b) {
    const size_t n = a ? (size_t)sh_tensor_numel(a) * sh_dtype_size(sh_tensor_dtype(a)) : 0;
    const int ndim = a ? sh_tensor_ndim(a) : 0;
    if (!a || !b || sh_tensor_dtype(a) != sh_tensor_dtype(b) || sh_tensor_ndim(b) != ndim) return false;
    if (ndim && memcmp(sh_tensor_sizes(a), sh_tensor_sizes(b), (size_t)ndim * sizeof(int64_t)) != 0)
        return false;
    const sh_tensor *x = sh_call_op("contiguous", (sh_tensor *)(uintptr_t)a),
                    *y = sh_call_op("contiguous", (sh_tensor *)(uintptr_t)b);
    return x && y && (!n || memcmp(sh_tensor_data(x), sh_tensor_data(y), n) == 0);
}

/* One tensor or a list of them, bit for bit. */
static inline bool same_values(sh_value a, sh_value b) {
    if (a.tag != b.tag) return false;
    if (a.tag == SH_TAG_TENSOR) return same_tensor(a.as.tensor, b.as.tensor);
    bool same = a.tag == SH_TAG_TENSORS && a.count == b.count;
    for (uint32_t i = 0; same && i < a.count; i++) same = same_tensor(a.as.tensors[i], b.as.tensors[i]);
    return same;
}

#endif
