/* site.c - who called a closure. libffi's frames stand between: the one whose frame holds what the handler was given is the
 * closure's own, and its caller is the program. A walk costs a microsecond or two, so it is taken only where a mode will see the call. */
#include <unwind.h>

#include "dispatch/ffi/closure.h"

typedef struct walk {
    uintptr_t above;
    const void *site;
    int frames;
    bool passed;
} walk;

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *user) {
    walk *w = user;
    if (w->passed) {
        w->site = (const void *)_Unwind_GetIP(context);
        return _URC_END_OF_STACK;
    }
    w->passed = _Unwind_GetCFA(context) > w->above;
    return ++w->frames < 24 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

const void *sh__closure_site(const void *args) {
    walk w = {.above = (uintptr_t)args};
    _Unwind_Backtrace(look, &w);
    return w.site;
}
