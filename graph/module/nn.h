/* nn.h - the built-in modules: PyTorch's names, arguments and defaults.
 *
 *     sh_module *net = sh_nn_sequential(sh_nn_conv2d(3, 16, 3, .padding = 1, .bias = false),
 *                                       sh_nn_batch_norm2d(16), sh_nn_relu());
 *
 * Required arguments stand in front, the others go by name. A kernel_size, stride, padding or dilation is one number for
 * both axes or braces for each: `.stride = {2, 1}`. A module is the caller's (sh_module_release, or give it to another
 * by sh_module_give); NULL and an error where an argument is bad or memory is out.
 *
 * Parameters are drawn from this thread's generator (sh_manual_seed) from PyTorch's distributions: linear and conv
 * uniform within 1 / sqrt(fan_in), embedding normal, scales 1, shifts 0. Their names in a state dict are PyTorch's too.
 * In C++: sh_nn_conv2d(3, 16, 3, sh::padding = 1). */
#ifndef SH_GRAPH_MODULE_NN_H
#define SH_GRAPH_MODULE_NN_H

#include "graph/module/module.h"
#include "ops/ops.h"

SH_BEGIN_DECLS

typedef struct sh_nn_linear_options {
    char sh_;
    int64_t in_features, out_features;
    bool bias;
} sh_nn_linear_options;
#define SH_NN_LINEAR_DEFAULTS .bias = true
/* (..., in_features) -> (..., out_features). weight is out x in. */
SH_API sh_module *sh_nn_linear(const sh_nn_linear_options *options);

typedef struct sh_nn_conv1d_options {
    char sh_;
    int64_t in_channels, out_channels, kernel_size, stride, padding, dilation, groups;
    bool bias;
} sh_nn_conv1d_options;
#define SH_NN_CONV1D_DEFAULTS .stride = 1, .dilation = 1, .groups = 1, .bias = true
/* (n, in_channels, length) or without n. */
SH_API sh_module *sh_nn_conv1d(const sh_nn_conv1d_options *options);

typedef struct sh_nn_conv2d_options {
    char sh_;
    int64_t in_channels, out_channels, kernel_size[2], stride[2], padding[2], dilation[2], groups;
    bool bias;
} sh_nn_conv2d_options;
#define SH_NN_CONV2D_DEFAULTS                                                                               \
    .kernel_size = {0, SH_SAME}, .stride = {1, SH_SAME}, .padding = {0, SH_SAME}, .dilation = {1, SH_SAME}, \
    .groups = 1, .bias = true
/* (n, in_channels, height, width) or without n. */
SH_API sh_module *sh_nn_conv2d(const sh_nn_conv2d_options *options);

typedef struct sh_nn_batch_norm2d_options {
    char sh_;
    int64_t num_features;
    double eps, momentum; /* momentum SH_NO_NUMBER: the running statistics are plain averages */
    bool affine, track_running_stats;
} sh_nn_batch_norm2d_options;
#define SH_NN_BATCH_NORM2D_DEFAULTS .eps = 1e-5, .momentum = 0.1, .affine = true, .track_running_stats = true
/* (n, num_features, height, width). In training it normalises by the batch and moves the running statistics. */
SH_API sh_module *sh_nn_batch_norm2d(const sh_nn_batch_norm2d_options *options);

typedef struct sh_nn_layer_norm_options {
    char sh_;
    int64_t normalized_shape[SH_MAX_DIMS]; /* up to the first 0: the sizes of the last dimensions */
    double eps;
    bool elementwise_affine;
} sh_nn_layer_norm_options;
#define SH_NN_LAYER_NORM_DEFAULTS .eps = 1e-5, .elementwise_affine = true
SH_API sh_module *sh_nn_layer_norm(const sh_nn_layer_norm_options *options);

typedef struct sh_nn_embedding_options {
    char sh_;
    int64_t num_embeddings, embedding_dim;
    int64_t padding_idx; /* this row starts as zeros; SH_NO_INT: none */
} sh_nn_embedding_options;
#define SH_NN_EMBEDDING_DEFAULTS .padding_idx = SH_NO_INT
/* Integers of any shape -> that shape x embedding_dim. */
SH_API sh_module *sh_nn_embedding(const sh_nn_embedding_options *options);

typedef struct sh_nn_inplace_options {
    char sh_;
    bool inplace;
} sh_nn_inplace_options;
typedef sh_nn_inplace_options sh_nn_relu_options, sh_nn_silu_options;
#define SH_NN_RELU_DEFAULTS .inplace = false
#define SH_NN_SILU_DEFAULTS .inplace = false
SH_API sh_module *sh_nn_relu(const sh_nn_relu_options *options);
SH_API sh_module *sh_nn_silu(const sh_nn_silu_options *options);

typedef struct sh_nn_gelu_options {
    char sh_;
    const char *approximate; /* "none" or "tanh"; must outlive the module */
} sh_nn_gelu_options;
#define SH_NN_GELU_DEFAULTS .approximate = "none"
SH_API sh_module *sh_nn_gelu(const sh_nn_gelu_options *options);

SH_API sh_module *sh_nn_sigmoid(void);
SH_API sh_module *sh_nn_tanh(void);
SH_API sh_module *sh_nn_identity(void);

typedef struct sh_nn_softmax_options {
    char sh_;
    int64_t dim;
} sh_nn_softmax_options;
#define SH_NN_SOFTMAX_DEFAULTS .dim = SH_NO_INT
/* Without a dim PyTorch guesses one and warns: here it is an error. */
SH_API sh_module *sh_nn_softmax(const sh_nn_softmax_options *options);

typedef struct sh_nn_max_pool2d_options {
    char sh_;
    int64_t kernel_size[2], stride[2], padding[2], dilation[2]; /* stride {0, 0}: kernel_size */
    bool ceil_mode;
} sh_nn_max_pool2d_options;
#define SH_NN_MAX_POOL2D_DEFAULTS \
    .kernel_size = {0, SH_SAME}, .stride = {0, SH_SAME}, .padding = {0, SH_SAME}, .dilation = {1, SH_SAME}
SH_API sh_module *sh_nn_max_pool2d(const sh_nn_max_pool2d_options *options);

typedef struct sh_nn_avg_pool2d_options {
    char sh_;
    int64_t kernel_size[2], stride[2], padding[2];
    bool ceil_mode, count_include_pad;
    int64_t divisor_override; /* SH_NO_INT: none */
} sh_nn_avg_pool2d_options;
#define SH_NN_AVG_POOL2D_DEFAULTS                                                                            \
    .kernel_size = {0, SH_SAME}, .stride = {0, SH_SAME}, .padding = {0, SH_SAME}, .count_include_pad = true, \
    .divisor_override = SH_NO_INT
SH_API sh_module *sh_nn_avg_pool2d(const sh_nn_avg_pool2d_options *options);

typedef struct sh_nn_adaptive_avg_pool2d_options {
    char sh_;
    int64_t output_size[2];
} sh_nn_adaptive_avg_pool2d_options;
#define SH_NN_ADAPTIVE_AVG_POOL2D_DEFAULTS .output_size = {0, SH_SAME}
SH_API sh_module *sh_nn_adaptive_avg_pool2d(const sh_nn_adaptive_avg_pool2d_options *options);

typedef struct sh_nn_flatten_options {
    char sh_;
    int64_t start_dim, end_dim;
} sh_nn_flatten_options;
#define SH_NN_FLATTEN_DEFAULTS .start_dim = 1, .end_dim = -1
SH_API sh_module *sh_nn_flatten(const sh_nn_flatten_options *options);

typedef struct sh_nn_dropout_options {
    char sh_;
    double p;
    bool inplace;
} sh_nn_dropout_options;
#define SH_NN_DROPOUT_DEFAULTS .p = 0.5
SH_API sh_module *sh_nn_dropout(const sh_nn_dropout_options *options);

/* Children run one after the other, or are only kept. They take over the references of what is in the list; where one is
 * NULL all others are released. */
SH_API sh_module *sh_nn_sequential(sh_module *const *list, size_t n);
SH_API sh_module *sh_nn_module_list(sh_module *const *list, size_t n);

SH_END_DECLS

#ifndef __cplusplus
#define SH__NN(name, v, defaults, ...)                                                          \
    __extension__({                                                                             \
        SH__QUIET const sh_nn_##name##_options v = {.sh_ = 0, defaults, .sh_ = 0, __VA_ARGS__}; \
        SH__LOUD(sh_nn_##name)(&v);                                                             \
    })
#define sh_nn_linear(...) SH__NN(linear, SH__UNIQUE(sh__o), SH_NN_LINEAR_DEFAULTS, __VA_ARGS__)
#define sh_nn_conv1d(...) SH__NN(conv1d, SH__UNIQUE(sh__o), SH_NN_CONV1D_DEFAULTS, __VA_ARGS__)
#define sh_nn_conv2d(...) SH__NN(conv2d, SH__UNIQUE(sh__o), SH_NN_CONV2D_DEFAULTS, __VA_ARGS__)
#define sh_nn_batch_norm2d(...) \
    SH__NN(batch_norm2d, SH__UNIQUE(sh__o), SH_NN_BATCH_NORM2D_DEFAULTS, __VA_ARGS__)
#define sh_nn_layer_norm(...) SH__NN(layer_norm, SH__UNIQUE(sh__o), SH_NN_LAYER_NORM_DEFAULTS, __VA_ARGS__)
#define sh_nn_embedding(...) SH__NN(embedding, SH__UNIQUE(sh__o), SH_NN_EMBEDDING_DEFAULTS, __VA_ARGS__)
#define sh_nn_relu(...) SH__NN(relu, SH__UNIQUE(sh__o), SH_NN_RELU_DEFAULTS, __VA_ARGS__)
#define sh_nn_silu(...) SH__NN(silu, SH__UNIQUE(sh__o), SH_NN_SILU_DEFAULTS, __VA_ARGS__)
#define sh_nn_gelu(...) SH__NN(gelu, SH__UNIQUE(sh__o), SH_NN_GELU_DEFAULTS, __VA_ARGS__)
#define sh_nn_softmax(...) SH__NN(softmax, SH__UNIQUE(sh__o), SH_NN_SOFTMAX_DEFAULTS, __VA_ARGS__)
#define sh_nn_max_pool2d(...) SH__NN(max_pool2d, SH__UNIQUE(sh__o), SH_NN_MAX_POOL2D_DEFAULTS, __VA_ARGS__)
#define sh_nn_avg_pool2d(...) SH__NN(avg_pool2d, SH__UNIQUE(sh__o), SH_NN_AVG_POOL2D_DEFAULTS, __VA_ARGS__)
#define sh_nn_adaptive_avg_pool2d(...) \
    SH__NN(adaptive_avg_pool2d, SH__UNIQUE(sh__o), SH_NN_ADAPTIVE_AVG_POOL2D_DEFAULTS, __VA_ARGS__)
#define sh_nn_flatten(...) SH__NN(flatten, SH__UNIQUE(sh__o), SH_NN_FLATTEN_DEFAULTS, __VA_ARGS__)
#define sh_nn_dropout(...) SH__NN(dropout, SH__UNIQUE(sh__o), SH_NN_DROPOUT_DEFAULTS, __VA_ARGS__)
/* 1 to 32 modules. */
#define sh_nn_sequential(...) SH__NN_LIST(sh_nn_sequential, SH__UNIQUE(sh__o), __VA_ARGS__)
#define sh_nn_module_list(...) SH__NN_LIST(sh_nn_module_list, SH__UNIQUE(sh__o), __VA_ARGS__)
#define SH__NN_LIST(make, v, ...)                       \
    __extension__({                                     \
        SH__QUIET sh_module *const v[] = {__VA_ARGS__}; \
        SH__LOUD(make)(v, sizeof v / sizeof *v);        \
    })
#else
/* Those that no op has. */
SH__KEYWORD(affine)
SH__KEYWORD(elementwise_affine)
SH__KEYWORD(embedding_dim)
SH__KEYWORD(in_channels)
SH__KEYWORD(in_features)
SH__KEYWORD(inplace)
SH__KEYWORD(kernel_size)
SH__KEYWORD(normalized_shape)
SH__KEYWORD(num_embeddings)
SH__KEYWORD(num_features)
SH__KEYWORD(out_channels)
SH__KEYWORD(out_features)
SH__KEYWORD(output_size)
SH__KEYWORD(track_running_stats)

SH_BEGIN_CXX
/* Required arguments are the fields of these names; the others are keywords. */
#define SH__NN_0(name, NAME)                                                                          \
    template <class... K, class = ::sh__cxx::keywords<K...>> sh_module *sh_nn_##name(const K &...k) { \
        sh_nn_##name##_options o = {.sh_ = 0, SH_NN_##NAME##_DEFAULTS};                               \
        (k.into(o), ...);                                                                             \
        return sh_nn_##name(&o);                                                                      \
    }
#define SH__NN_1(name, NAME, a)                                           \
    template <class... K, class = ::sh__cxx::keywords<K...>>              \
    sh_module *sh_nn_##name(const ::sh__cxx::numbers &a, const K &...k) { \
        return sh_nn_##name((sh::a = a), k...);                           \
    }
#define SH__NN_2(name, NAME, a, b)                                                                     \
    template <class... K, class = ::sh__cxx::keywords<K...>>                                           \
    sh_module *sh_nn_##name(const ::sh__cxx::numbers &a, const ::sh__cxx::numbers &b, const K &...k) { \
        return sh_nn_##name((sh::a = a), (sh::b = b), k...);                                           \
    }
#define SH__NN_3(name, NAME, a, b, c)                                                 \
    template <class... K, class = ::sh__cxx::keywords<K...>>                          \
    sh_module *sh_nn_##name(const ::sh__cxx::numbers &a, const ::sh__cxx::numbers &b, \
                            const ::sh__cxx::numbers &c, const K &...k) {             \
        return sh_nn_##name((sh::a = a), (sh::b = b), (sh::c = c), k...);             \
    }
#define SH__NN(n, name, NAME, ...) SH__NN_0(name, NAME) SH__CAT(SH__NN_, n)(name, NAME, __VA_ARGS__)
SH__NN(2, linear, LINEAR, in_features, out_features)
SH__NN(3, conv1d, CONV1D, in_channels, out_channels, kernel_size)
SH__NN(3, conv2d, CONV2D, in_channels, out_channels, kernel_size)
SH__NN(1, batch_norm2d, BATCH_NORM2D, num_features)
SH__NN(1, layer_norm, LAYER_NORM, normalized_shape)
SH__NN(2, embedding, EMBEDDING, num_embeddings, embedding_dim)
SH__NN(1, softmax, SOFTMAX, dim)
SH__NN(1, max_pool2d, MAX_POOL2D, kernel_size)
SH__NN(1, avg_pool2d, AVG_POOL2D, kernel_size)
SH__NN(1, adaptive_avg_pool2d, ADAPTIVE_AVG_POOL2D, output_size)
SH__NN(2, flatten, FLATTEN, start_dim, end_dim)
SH__NN_0(relu, RELU)
SH__NN_0(silu, SILU)
SH__NN_0(gelu, GELU)
SH__NN_0(dropout, DROPOUT)
#undef SH__NN
#undef SH__NN_0
#undef SH__NN_1
#undef SH__NN_2
#undef SH__NN_3

template <class... M> sh_module *sh_nn_sequential(sh_module *first, M... rest) {
    sh_module *const list[] = {first, rest...};
    return sh_nn_sequential(list, 1 + sizeof...(M));
}
template <class... M> sh_module *sh_nn_module_list(sh_module *first, M... rest) {
    sh_module *const list[] = {first, rest...};
    return sh_nn_module_list(list, 1 + sizeof...(M));
}
SH_END_CXX
#endif

#endif
