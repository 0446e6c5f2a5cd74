/* rows.h - picking rows out of tables: what index_select and embedding are made of. */
#ifndef SH_OPS_CPU_ROWS_H
#define SH_OPS_CPU_ROWS_H

#include <stdint.h>

/* `tables` tables one after the other, each of `size` rows of `bytes` bytes. */
typedef struct sh_rows {
    const char *from;
    int64_t tables, size, bytes;
} sh_rows;

/* The n rows of each table that the indices name, one after the other; the indices are not checked. */
void sh_pick_rows(char *to, const sh_rows *rows, const int64_t *index, int64_t n);

#endif
