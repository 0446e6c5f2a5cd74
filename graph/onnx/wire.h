/* wire.h - protobuf messages from bytes that nobody vouches for.
 *
 * protobuf-c recurses on the C stack, copies on each repetition of a field and makes up to a hundred bytes out
 * of two. So the bytes are walked first: framing, depth, repetitions; then what they unpack to comes out of
 * a budget. */
#ifndef SH_GRAPH_ONNX_WIRE_H
#define SH_GRAPH_ONNX_WIRE_H

#include <protobuf-c/protobuf-c.h>

#include "dispatch/status.h"

/* How much memory reading one file may take. */
typedef struct sh_budget {
    size_t limit, used;
    const char *what; /* the file's name, for the error */
} sh_budget;

/* What a file of `size` bytes may take: a constant and some multiples of itself. */
sh_budget sh__budget_for(size_t size, const char *what);
/* An error that says so when the budget is exceeded. */
sh_status sh__budget_take(sh_budget *budget, size_t bytes);

/* An allocator for protobuf-c that takes from the budget; the budget must outlive what it allocated. */
ProtobufCAllocator sh__budget_allocator(sh_budget *budget);

/* The message, checked; NULL and an error. `what` names the file in errors. */
ProtobufCMessage *sh__wire_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size,
                                  ProtobufCAllocator *allocator, const char *what);

#endif
