/* nn_fields.c - the options of the built-in modules, one table each: what they are and the range of their integers. */
#include "graph/module/nn_types.h"

#define ENTRIES(state, member) sizeof(((state *)0)->member) / sizeof(int64_t)
#define INTEGER(state, member, range_)                                                                 \
    {                                                                                                  \
        .name = #member, .kind = ENTRIES(state, member) > 1 ? SH_FIELD_INTS : SH_FIELD_INT,            \
        .range = SH_FIELD_##range_, .offset = offsetof(state, member), .count = ENTRIES(state, member) \
    }
#define OTHER(state, member, kind_) \
    { .name = #member, .kind = SH_FIELD_##kind_, .offset = offsetof(state, member) }
#define FIELDS(module, ...) const sh_module_field sh__nn_##module##_fields[] = {__VA_ARGS__, {.name = NULL}};

#define STATE sh_nn_linear_options
FIELDS(linear, INTEGER(STATE, in_features, NOT_NEGATIVE), INTEGER(STATE, out_features, NOT_NEGATIVE),
       OTHER(STATE, bias, FLAG))
#undef STATE

#define CONV_FIELDS                                                                                       \
    INTEGER(STATE, in_channels, POSITIVE), INTEGER(STATE, out_channels, POSITIVE),                        \
        INTEGER(STATE, kernel_size, POSITIVE), INTEGER(STATE, stride, ANY), INTEGER(STATE, padding, ANY), \
        INTEGER(STATE, dilation, ANY), INTEGER(STATE, groups, POSITIVE), OTHER(STATE, bias, FLAG)
#define STATE sh_nn_conv1d_options
FIELDS(conv1d, CONV_FIELDS)
#undef STATE
#define STATE sh_nn_conv2d_options
FIELDS(conv2d, CONV_FIELDS)
#undef STATE

#define STATE sh_nn_batch_norm2d_options
FIELDS(batch_norm2d, INTEGER(STATE, num_features, POSITIVE), OTHER(STATE, eps, FLOAT),
       OTHER(STATE, momentum, FLOAT), OTHER(STATE, affine, FLAG), OTHER(STATE, track_running_stats, FLAG))
#undef STATE

#define STATE sh_nn_layer_norm_options
FIELDS(layer_norm, INTEGER(STATE, normalized_shape, POSITIVE), OTHER(STATE, eps, FLOAT),
       OTHER(STATE, elementwise_affine, FLAG))
#undef STATE

#define STATE sh_nn_embedding_options
FIELDS(embedding, INTEGER(STATE, num_embeddings, NOT_NEGATIVE), INTEGER(STATE, embedding_dim, NOT_NEGATIVE),
       INTEGER(STATE, padding_idx, ANY))
#undef STATE

FIELDS(relu, OTHER(sh_nn_relu_options, inplace, FLAG))
FIELDS(silu, OTHER(sh_nn_silu_options, inplace, FLAG))

static const char *const approximations[] = {"none", "tanh", NULL};
FIELDS(gelu, {.name = "approximate",
              .kind = SH_FIELD_CHOICE,
              .offset = offsetof(sh_nn_gelu_options, approximate),
              .choices = approximations})

FIELDS(softmax, INTEGER(sh_nn_softmax_options, dim, ANY))

#define STATE sh_nn_max_pool2d_options
FIELDS(max_pool2d, INTEGER(STATE, kernel_size, POSITIVE), INTEGER(STATE, stride, ANY),
       INTEGER(STATE, padding, ANY), INTEGER(STATE, dilation, ANY), OTHER(STATE, ceil_mode, FLAG))
#undef STATE

#define STATE sh_nn_avg_pool2d_options
FIELDS(avg_pool2d, INTEGER(STATE, kernel_size, POSITIVE), INTEGER(STATE, stride, ANY),
       INTEGER(STATE, padding, ANY), OTHER(STATE, ceil_mode, FLAG), OTHER(STATE, count_include_pad, FLAG),
       INTEGER(STATE, divisor_override, ANY))
#undef STATE

FIELDS(adaptive_avg_pool2d, INTEGER(sh_nn_adaptive_avg_pool2d_options, output_size, POSITIVE))
FIELDS(flatten, INTEGER(sh_nn_flatten_options, start_dim, ANY), INTEGER(sh_nn_flatten_options, end_dim, ANY))
FIELDS(dropout, OTHER(sh_nn_dropout_options, p, FLOAT), OTHER(sh_nn_dropout_options, inplace, FLAG))
