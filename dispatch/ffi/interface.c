/* interface.c - the one file that includes <ffi.h>.
 *
 * An interface is one block: libffi's description of the call, and of each struct its fields. Struct types need size and
 * alignment, which libffi works out itself. What libffi returns for whole numbers narrower than a register is widened to
 * one; a closure must return them so. */
#include "dispatch/ffi/interface.h"

#include <ffi.h>
#include <string.h>

#include "dispatch/memory_impl.h"

struct sh_interface {
    ffi_cif cif;
    ffi_type *params[SH_C_PARAMS];
    uint32_t nstructs, nelements;
    ffi_type structs[SH_C_PARAMS + SH_C_ITEMS];
    ffi_type *elements[SH_C_PARAMS + 2 * SH_C_ITEMS]; /* of all structs, each list ended by NULL */
};

struct sh_trampoline {
    ffi_closure *closure; /* libffi's own memory */
    ffi_cif cif;
    sh_ctype returns;
    bool pointer;
    sh_c_handler handler;
    void *user;
};

static ffi_type *scalar_type(sh_ctype type) {
    switch (type) {
    case SH_C_VOID: return &ffi_type_void;
    case SH_C_BOOL:
    case SH_C_U8: return &ffi_type_uint8;
    case SH_C_CHAR: return (char)-1 < 0 ? &ffi_type_sint8 : &ffi_type_uint8;
    case SH_C_I8: return &ffi_type_sint8;
    case SH_C_I16: return &ffi_type_sint16;
    case SH_C_U16: return &ffi_type_uint16;
    case SH_C_I32: return &ffi_type_sint32;
    case SH_C_U32: return &ffi_type_uint32;
    case SH_C_I64: return &ffi_type_sint64;
    case SH_C_U64: return &ffi_type_uint64;
    case SH_C_F32: return &ffi_type_float;
    case SH_C_F64: return &ffi_type_double;
    case SH_C_LONG_DOUBLE: return &ffi_type_longdouble;
    default: return NULL;
    }
}

static ffi_type *type_of(sh_interface *f, const sh_signature *s, const sh_citem *item);

static ffi_type *struct_type(sh_interface *f, const sh_signature *s, const sh_citem *item) {
    ffi_type *type = &f->structs[f->nstructs++];
    uint32_t n = 1;
    for (uint16_t i = item->fields; i; i = s->items[i].next) n++;
    ffi_type **elements = &f->elements[f->nelements];
    f->nelements += n;
    *type = (ffi_type){.type = FFI_TYPE_STRUCT, .elements = elements};
    for (uint16_t i = item->fields; i; i = s->items[i].next)
        if (!(*elements++ = type_of(f, s, &s->items[i]))) return NULL;
    return type;
}

static ffi_type *type_of(sh_interface *f, const sh_signature *s, const sh_citem *item) {
    if (item->pointers) return &ffi_type_pointer;
    if (item->type == SH_C_STRUCT) return struct_type(f, s, item);
    ffi_type *type = scalar_type(item->type);
    if (!type)
        sh_fail(SH_ERROR_SIGNATURE, "C signature, column %d: %s is not passed by value", item->column,
                sh__ctype_name(item->type));
    return type;
}

sh_interface *sh__interface_new(const sh_signature *s) {
    sh_interface *f = sh__calloc(1, sizeof *f);
    if (!f) return NULL;
    ffi_type *returns = type_of(f, s, &s->returns);
    for (uint32_t i = 0; returns && i < s->nparams; i++)
        if (!(f->params[i] = type_of(f, s, &s->items[i]))) returns = NULL;
    if (returns && ffi_prep_cif(&f->cif, FFI_DEFAULT_ABI, s->nparams, returns, f->params) == FFI_OK) return f;
    if (returns) sh_fail(SH_ERROR_SIGNATURE, "libffi can't call \"%.60s\"", s->text);
    sh__free(f);
    return NULL;
}

void sh__interface_free(sh_interface *interface) { sh__free(interface); }

void sh__interface_call(const sh_interface *interface, sh_c_function function, void *value, void **args) {
    ffi_call((ffi_cif *)(uintptr_t)&interface->cif, function, value, args);
}

/* ---- closures ---- */

/* A number of its own type becomes the 8 bytes of a register. */
void sh__interface_widen(sh_ctype type, void *value) {
    int64_t wide;
#define WIDEN(name, ctype) \
    case SH_C_##name: wide = (int64_t) * (const ctype *)value; break;
    switch (type) {
        WIDEN(BOOL, uint8_t)
        WIDEN(CHAR, char)
        WIDEN(I8, int8_t)
        WIDEN(U8, uint8_t)
        WIDEN(I16, int16_t)
        WIDEN(U16, uint16_t)
        WIDEN(I32, int32_t)
        WIDEN(U32, uint32_t)
    default: return;
    }
#undef WIDEN
    memcpy(value, &wide, sizeof wide);
}

static void enter(ffi_cif *cif, void *returned, void **args, void *user) {
    const sh_trampoline *t = user;
    _Alignas(16) unsigned char value[16] = {0};
    t->handler(value, args, t->user);
    if (!t->pointer) sh__interface_widen(t->returns, value);
    const size_t size = cif->rtype->size < sizeof(ffi_arg) ? sizeof(ffi_arg) : cif->rtype->size;
    if (cif->rtype->type == FFI_TYPE_VOID) return;
    memcpy(returned, value, cif->rtype->type == FFI_TYPE_FLOAT ? sizeof(float) : size);
}

sh_trampoline *sh__trampoline_new(const sh_interface *interface, const sh_signature *s, sh_c_handler handler,
                                  void *user, sh_c_function *code) {
    sh_trampoline *t = sh__calloc(1, sizeof *t);
    void *entry = NULL;
    if (!t) return NULL;
    *t = (sh_trampoline){.cif = interface->cif,
                         .returns = s->returns.type,
                         .pointer = s->returns.pointers > 0,
                         .handler = handler,
                         .user = user};
    t->closure = sh__allocation_fails() ? NULL : ffi_closure_alloc(sizeof *t->closure, &entry);
    if (t->closure && ffi_prep_closure_loc(t->closure, &t->cif, enter, t, entry) == FFI_OK) {
        memcpy(code, &entry, sizeof entry);
        return t;
    }
    sh__trampoline_free(t);
    sh_fail(SH_ERROR_MEMORY, "libffi has no memory for a closure");
    return NULL;
}

void sh__trampoline_free(sh_trampoline *t) {
    if (!t) return;
    if (t->closure) ffi_closure_free(t->closure);
    sh__free(t);
}
