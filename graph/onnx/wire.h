/* wire.h - protobuf messages from bytes that nobody vouches for.
 *
 * protobuf-c recurses on the C stack, copies on each repetition of a field and makes up to a hundred bytes out
 * of two. So the bytes are walked first: framing, depth, repetitions; then what they unpack to comes out of
 * a budget. */
#ifndef SH_GRAPH_ONNX_WIRE_H
#define SH_GRAPH_ONNX_WIRE_H

#include <protobuf-c/protobuf-c.h>

#include "ops/io/budget.h"

/* An allocator for protobuf-c that takes from the budget; the budget must outlive what it allocated. */
ProtobufCAllocator sh__budget_allocator(sh_budget *budget);

/* The message, checked; NULL and an error. `what` names the file in errors. */
ProtobufCMessage *sh__wire_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size,
                                  ProtobufCAllocator *allocator, const char *what);

#endif
