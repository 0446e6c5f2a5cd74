/* io.h - tensors in files: .npy, .npz, .safetensors. In libshunt-io.
 *
 * A loaded tensor is scope-owned like an op's result. Nothing in a file is believed before it is checked against the
 * file's size; what asks for more memory than 64 MiB and 8 times the file is refused. A pipe, device or folder is an
 * error at once. After an error the dict is NULL. Names are text in UTF-8 without control characters.
 * A save writes beside the file and renames, so a full disk or a crash leaves the old file as it was. */
#ifndef SH_OPS_IO_IO_H
#define SH_OPS_IO_IO_H

#include "dispatch/tensor.h"

SH_BEGIN_DECLS

/* Tensors by name, in the order they were set. The caller owns it (sh_dict_free); it keeps a reference on each tensor. */
typedef struct sh_dict sh_dict;
SH_API sh_dict *sh_dict_new(void);
SH_API void sh_dict_free(sh_dict *dict);
/* Adds or replaces. The name is copied. */
SH_API sh_status sh_dict_set(sh_dict *dict, const char *name, sh_tensor *t);
SH_API size_t sh_dict_size(const sh_dict *dict);
SH_API const char *sh_dict_name(const sh_dict *dict, size_t i);
SH_API sh_tensor *sh_dict_at(const sh_dict *dict, size_t i);           /* borrowed */
SH_API sh_tensor *sh_dict_find(const sh_dict *dict, const char *name); /* borrowed; NULL if there is none */

/* NumPy's format, versions 1 to 3, either byte order, C or Fortran order. */
SH_API sh_tensor *sh_load_npy(const char *path);
/* Version 1.0, little-endian, C order. bf16, which NumPy lacks, is written as float32 (exact). */
SH_API sh_status sh_save_npy(const char *path, const sh_tensor *t);

/* An archive of .npy entries; stored or deflated when read, stored when written. Checksums are compared; other entries are
 * passed over. */
SH_API sh_status sh_load_npz(const char *path, sh_dict **dict);
SH_API sh_status sh_save_npz(const char *path, const sh_dict *dict);

/* All dtypes of shunt, bf16 included. */
SH_API sh_status sh_load_safetensors(const char *path, sh_dict **dict);
SH_API sh_status sh_save_safetensors(const char *path, const sh_dict *dict);

/* The same from bytes in memory; `what` names them in errors. */
SH_API sh_tensor *sh_parse_npy(const void *bytes, size_t size, const char *what);
SH_API sh_status sh_parse_npz(const void *bytes, size_t size, const char *what, sh_dict **dict);
SH_API sh_status sh_parse_safetensors(const void *bytes, size_t size, const char *what, sh_dict **dict);

SH_END_DECLS

#endif
