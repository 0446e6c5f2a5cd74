/* no_data.c - a tensor without data is read: an error, which a trace words itself. */
#include "dispatch/no_data.h"

#include "dispatch/device_impl.h"
#include "dispatch/table.h"

static sh_status (*_Atomic the_reader)(const sh_tensor *t, const char *what);

void sh__set_trace_reader(sh_status (*reader)(const sh_tensor *t, const char *what)) { the_reader = reader; }

bool sh__is_traced(const sh_tensor *t) { return (t->flags & SH_TENSOR_UNBOUND) != 0; }

sh_status sh__no_data(const sh_tensor *t, const char *what) {
    sh_status (*reader)(const sh_tensor *, const char *) = the_reader;
    if (reader && sh__is_traced(t)) return reader(t, what);
    if (sh__is_remote(t))
        return sh_fail(SH_ERROR_DEVICE,
                       "%s: the tensor is on %s, expected host; sh_to_device(t, \"host\") copies it", what,
                       sh__device_name(t->device));
    return sh_fail(SH_ERROR_DEVICE, "%s: a meta tensor holds no data", what);
}
