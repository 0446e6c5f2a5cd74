/* repr.c - modules as PyTorch prints them.
 *
 *     Net(
 *       (linear): Linear(in_features=3, out_features=4, bias=True)
 *     )
 */
#include "graph/given.h"
#include "graph/module/module_impl.h"
#include "graph/text.h"

/* On the line of a module without children, else on a line of its own. */
static void put_extra(sh_text *out, const sh_module *module, int indent) {
    char text[512];
    if (!module->type->extra_repr) return;
    const size_t n = module->type->extra_repr(module, text, sizeof text);
    if (n && module->children.n) sh__text_put(out, "\n%*s", indent, "");
    sh__text_add(out, text, n < sizeof text ? n : sizeof text - 1);
}

static void put_module(sh_text *out, const sh_module *module, int indent) {
    sh__text_put(out, "%s(", module->type->name);
    put_extra(out, module, indent + 2);
    for (uint32_t i = 0; i < module->children.n; i++) {
        sh__text_put(out, "\n%*s(%s): ", indent + 2, "", module->children.at[i].name);
        put_module(out, module->children.at[i].object, indent + 2);
    }
    if (module->children.n) sh__text_put(out, "\n%*s", indent, "");
    sh__text_put(out, ")");
}

char *sh_module_text(const sh_module *module) {
    if (sh__error_pending()) return NULL;
    SH_GIVEN(module, NULL);
    sh_text out = {0};
    put_module(&out, module, 0);
    return sh__text_take(&out);
}
