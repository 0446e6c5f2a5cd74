/* define.c - the ops of the preload library: defined before the program's main, with the real functions as kernels. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "interpose/machine.h"
#include "modes/shadow.h"

wr_entry *const *const wr_families[] = {wr_blas_entries, NULL};

const wr_entry *wr_entry_of(const wr_routine *routine, sh_dtype dtype) {
    const wr_entry *found = NULL;
    WR_EACH_ENTRY(e) {
        if (e->routine->of != routine->of || e->dtype != dtype) continue;
        if (!found || e->routine == routine) found = e;
    }
    return found;
}

static int8_t place_of(const sh_schema *schema, const char *format, const char *name) {
    char text[64];
    snprintf(text, sizeof text, format, name);
    return (int8_t)sh_schema_find(schema, text);
}

static uint8_t count_written(const wr_routine *r) {
    uint8_t n = 0;
    for (uint32_t i = 0; i < r->nargs; i++)
        if (r->args[i].kind == WR_ARRAY && r->args[i].access != WR_IN) n++;
    return n;
}

static void find_places(wr_routine *r) {
    const sh_schema *schema = sh_op_schema(r->of);
    r->order = place_of(schema, "%s", "order");
    r->nwritten = count_written(r);
    r->narrays = 0;
    for (uint32_t i = 0; i < r->nargs; i++) {
        const wr_arg *a = &r->args[i];
        r->narrays = (uint8_t)(r->narrays + (a->kind == WR_ARRAY));
        r->places[i] = (wr_place){place_of(schema, "%s", a->name), place_of(schema, "%s_imag", a->name),
                                  place_of(schema, "conj_%s", a->name)};
    }
}

/* Who brings the kernels: the library that the program would call, if it is there already. */
static const char *registrant(void) {
    static char name[256] = "the program's BLAS";
    const wr_function function = wr_find("dgemm_", NULL);
    void *address;
    Dl_info info;
    memcpy(&address, &function, sizeof address);
    if (function && dladdr(address, &info) && info.dli_fname) {
        const char *base = strrchr(info.dli_fname, '/');
        snprintf(name, sizeof name, "%s", base ? base + 1 : info.dli_fname);
    }
    return name;
}

static sh_status define(wr_routine *r, const char *who) {
    const sh_op *of = sh_op_find(r->op);
    if (!of || !sh_op_schema(of)) {
        const bool infers = count_written(r) < 2; /* several are written in place: nothing is new */
        const sh_op_options options = {.user = r,
                                       .registrant = who,
                                       .tags = count_written(r) == 1 ? SH_OP_OUT : 0,
                                       .infer = infers ? wr_infer : NULL,
                                       .cost = wr_blas_cost};
        SH_TRY(sh_op_define(r->schema, &options, &of));
        SH_TRY(sh_kernel_register_base(r->op, "cpu", wr_kernel, r, who, NULL));
        SH_TRY(sh_kernel_register_base(r->op, "ref", wr_kernel, r, who, NULL));
    }
    r->of = of;
    find_places(r);
    return SH_OK;
}

/* The modes of the environment are there by then: what they name of here they look for when it is called. */
__attribute__((constructor)) static void define_all(void) {
    const char *who = registrant();
    sh__set_shadow_library(wr_shadow_library);
    WR_EACH_ENTRY(e) {
        if (e->routine->of || define(e->routine, who) >= 0) continue;
        sh_warn("%s can't be shown: %s", e->symbol, sh_error() ? sh_error()->message : "no reason");
        sh_clear_error();
        e->routine->of = NULL;
    }
}
