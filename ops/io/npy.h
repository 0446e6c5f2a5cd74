/* npy.h - the .npy layout, for files and for the entries of .npz. */
#ifndef SH_OPS_IO_NPY_H
#define SH_OPS_IO_NPY_H

#include "dispatch/tensor.h"
#include "ops/io/file.h"

enum { SH_NPY_HEADER = 384 };

/* Reads all of it; the elements go straight into the tensor, which is scope-owned. NULL and an error. */
sh_tensor *sh_npy_read(sh_source *source);

/* Writes magic, version and header text for t, padded to 64 bytes; returns its length. */
size_t sh_npy_header(const sh_tensor *t, char *header);
/* t as it is written: row-major, bf16 as f32; scope-owned. NULL and an error. */
sh_tensor *sh_npy_plain(const sh_tensor *t);

#endif
