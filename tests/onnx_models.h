/* onnx_models.h - the small models that tests, seeds of the fuzzer and `make run` share, by name. */
#ifndef TESTS_ONNX_MODELS_H
#define TESTS_ONNX_MODELS_H

#include "onnx_builder.h"

typedef struct onnx_model {
    const char *name;
    void (*build)(onnx_builder *b);
    int64_t opset;
} onnx_model;

extern const onnx_model onnx_models[];
extern const size_t onnx_model_count;

/* The bytes of a model, for free(); NULL if there is none of that name. */
uint8_t *onnx_model_bytes(const char *name, size_t *size);

#endif
