/* safetensors.h - a .safetensors file as bytes from whatever gives and for whatever takes them. */
#ifndef SH_OPS_IO_SAFETENSORS_H
#define SH_OPS_IO_SAFETENSORS_H

#include "ops/io/file.h"
#include "ops/io/io.h"

/* All that the source gives; each tensor's bytes go straight into it. The caller's; NULL after an error. */
sh_status sh__safetensors_read(sh_source *source, sh_dict **dict);
/* Nothing is written if a name or tensor can't be. */
sh_status sh__safetensors_write(const sh_sink *sink, const sh_dict *dict);

#endif
