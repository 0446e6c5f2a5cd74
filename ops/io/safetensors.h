/* safetensors.h - a .safetensors file as bytes for whatever takes them. */
#ifndef SH_OPS_IO_SAFETENSORS_H
#define SH_OPS_IO_SAFETENSORS_H

#include "ops/io/file.h"
#include "ops/io/io.h"

/* Nothing is written if a name or tensor can't be. */
sh_status sh__safetensors_write(const sh_sink *sink, const sh_dict *dict);

#endif
