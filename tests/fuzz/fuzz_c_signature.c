/* C signatures from anywhere: fitted to ops, as kernels and as closures, or refused with an error. Nothing is registered,
 * as registrations stay. */
#include <stdlib.h>
#include <string.h>

#include "dispatch/ffi/program.h"
#include "shunt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static void look_at(const sh_cprogram *p) {
    for (uint32_t i = 0; i < p->nsteps; i++) {
        const sh_cstep *s = &p->steps[i];
        require(s->at + 8u <= SH_C_FRAME && s->address_at + 8u <= SH_C_FRAME && s->put <= SH_PUT_ROLE);
    }
}

static void try_op(const sh_signature *signature, const char *op) {
    for (int adapter = SH_C_PLAIN; adapter <= SH_C_GEMM; adapter++) {
        const sh_c_options options = {.adapter = (sh_c_adapter)adapter};
        sh_cprogram *p = sh__cprogram_new(signature, sh_op_schema(sh_op_find(op)), &options, 0);
        if (p)
            look_at(p);
        else
            require(sh_error() != NULL);
        sh__free(p);
        sh_clear_error();
        sh_closure *closure = sh_closure_new(op, signature->text, &options);
        require(closure ? sh_closure_free(closure) >= 0 : sh_error() != NULL);
        sh_clear_error();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const ops[] = {"relu", "addmm", "batch_norm", "max.dim", "cat"};
    char *const text = malloc(size + 1);
    if (!text) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    sh_signature *signature = sh__signature_parse(text);
    sh_interface *interface = signature ? sh__interface_new(signature) : NULL;
    require(interface || sh_error() != NULL);
    sh_clear_error();
    for (size_t i = 0; signature && i < sizeof ops / sizeof *ops; i++) try_op(signature, ops[i]);
    sh__interface_free(interface);
    sh__signature_free(signature);
    free(text);
    return 0;
}
