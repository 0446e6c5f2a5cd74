/* onednn.h - oneDNN's C API and its statuses; the only header that includes dnnl.h. */
#ifndef SH_OPS_CPU_ONEDNN_H
#define SH_OPS_CPU_ONEDNN_H

#include <dnnl.h>

#include "dispatch/status.h"

/* SH_OK, or an error that names what oneDNN was asked to do. */
sh_status sh_onednn_status(dnnl_status_t status, const char *what);

#endif
