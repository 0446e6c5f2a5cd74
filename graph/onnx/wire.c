/* wire.c - the walk over a message's bytes before protobuf-c sees them, and its allocator.
 *
 * The walk descends where the type says that a field is a message, at most 64 deep, so its own recursion and
 * protobuf-c's are bounded. Each byte is looked at once a level at most. */
#include "graph/onnx/wire.h"

#include "dispatch/memory_impl.h"

enum { MAX_DEPTH = 64 };

/* ---- the allocator ---- */

/* Before each block stands how much was taken for it. */
enum { HEADER = 16 };

static void *budget_alloc(void *data, size_t size) {
    sh_budget *budget = data;
    if (size > SIZE_MAX / 2 || sh__budget_take(budget, size + 2 * HEADER) < 0) return NULL;
    size_t *block = sh__alloc(size + HEADER);
    if (!block) {
        budget->used -= size + 2 * HEADER;
        return NULL;
    }
    *block = size + 2 * HEADER;
    return (char *)block + HEADER;
}

static void budget_free(void *data, void *pointer) {
    sh_budget *budget = data;
    if (!pointer) return;
    size_t *block = (size_t *)(void *)((char *)pointer - HEADER);
    budget->used -= *block;
    sh__free(block);
}

ProtobufCAllocator sh__budget_allocator(sh_budget *budget) {
    return (ProtobufCAllocator){budget_alloc, budget_free, budget};
}

/* ---- the walk ---- */

typedef struct walker {
    const uint8_t *start;
    const char *what;
} walker;

static sh_status damaged(const walker *w, const uint8_t *at, const char *how) {
    return sh_fail(SH_ERROR_FORMAT, "%s: no protobuf message: %s at byte %zu", w->what, how,
                   (size_t)(at - w->start));
}

static sh_status read_varint(const walker *w, const uint8_t **at, const uint8_t *end, uint64_t *value) {
    *value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (*at == end) return damaged(w, *at, "a number is cut off");
        const uint8_t byte = *(*at)++;
        *value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (!(byte & 0x80)) return SH_OK;
    }
    return damaged(w, *at, "a number is too long");
}

static sh_status walk(const walker *w, const ProtobufCMessageDescriptor *type, const uint8_t *at,
                      const uint8_t *end, int depth);

/* `content` has the field's bytes behind the length. A message that stands once must not be repeated: protobuf merges. */
static sh_status walk_content(const walker *w, const ProtobufCFieldDescriptor *field, const uint8_t *content,
                              const uint8_t *end, int depth, uint64_t *seen) {
    if (!field || field->type != PROTOBUF_C_TYPE_MESSAGE) return SH_OK;
    if (field->label != PROTOBUF_C_LABEL_REPEATED && field->id < 64) {
        if (*seen >> field->id & 1) return damaged(w, content, "a field is repeated that stands once");
        *seen |= (uint64_t)1 << field->id;
    }
    return walk(w, field->descriptor, content, end, depth + 1);
}

static sh_status walk(const walker *w, const ProtobufCMessageDescriptor *type, const uint8_t *at,
                      const uint8_t *end, int depth) {
    uint64_t seen = 0;
    if (depth > MAX_DEPTH)
        return sh_fail(SH_ERROR_FORMAT, "%s: messages nest deeper than %d", w->what, MAX_DEPTH);
    while (at < end) {
        uint64_t tag, size;
        SH_TRY(read_varint(w, &at, end, &tag));
        if (tag >> 3 == 0 || tag > UINT32_MAX) return damaged(w, at, "a field has no valid number");
        const ProtobufCFieldDescriptor *field =
            protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3));
        switch (tag & 7) {
        case 0: SH_TRY(read_varint(w, &at, end, &size)); continue;
        case 1: size = 8; break;
        case 2: SH_TRY(read_varint(w, &at, end, &size)); break;
        case 5: size = 4; break;
        default: return damaged(w, at, "a field has an unknown kind");
        }
        if (size > (uint64_t)(end - at)) return damaged(w, at, "a field is cut off");
        if ((tag & 7) == 2) SH_TRY(walk_content(w, field, at, at + size, depth, &seen));
        at += size;
    }
    return SH_OK;
}

ProtobufCMessage *sh__wire_unpack(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size,
                                  ProtobufCAllocator *allocator, const char *what) {
    const walker w = {data, what};
    if (walk(&w, type, data, data + size, 0) < 0) return NULL;
    ProtobufCMessage *message = protobuf_c_message_unpack(type, allocator, size, data);
    if (!message) sh_fail(SH_ERROR_FORMAT, "%s: it can't be read as %s", what, type->name);
    return message;
}
