/* Tests of moving rows: cpu has every bit of ref, whatever the lengths, layouts and dtypes. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "tests/against_ref.h"
#include "tests/sample.h"

/* Sizes around the blocks and squares that a copy goes by. */
Test(rows, rows_that_become_columns_keep_every_bit) {
    static const int64_t sizes[] = {7, 8, 9, 11, 16, 31, 32, 33, 35, 63, 66};
    for (int round = 0; round < 600; round++) {
        SH_SCOPE {
            const int64_t rows = sizes[sample_int(0, 10)], columns = sizes[sample_int(0, 10)];
            sh_tensor *x = sample_tensor(sample_dtype(), 3, (int64_t[]){sample_int(1, 3), rows, columns});
            const int64_t order[][3] = {{0, 2, 1}, {2, 0, 1}, {2, 1, 0}, {1, 2, 0}};
            sh_tensor *turned = sh_permute(x, sh_ints_of(order[round % 4], 3)), *plain = NULL;
            sh_tensor *fast = sh_clone(turned);
            SH_WITH_BACKEND("ref") plain = sh_clone(turned);
            cr_assert(sample_same(fast, plain), "round %d", round);
        }
    }
}

Test(rows, rows_of_any_length_are_picked_by_any_index) {
    for (int round = 0; round < 600; round++) {
        SH_SCOPE {
            const int64_t n = sample_int(1, 40),
                          width = sample_int(0, 9) ? sample_int(0, 40) : sample_int(120, 300);
            sh_tensor *x = sample_tensor(sample_dtype(), 3, (int64_t[]){sample_int(1, 3), n, width}),
                      *plain = NULL;
            sh_tensor *index =
                sh_randint(n, SH_SIZES(sample_int(0, 30)), .dtype = round % 2 ? SH_I64 : SH_I32);
            if (round % 3) x = sh_contiguous(x);
            if (round % 5 == 0) index = sh_slice(index, .step = 2);
            sh_tensor *fast = sh_index_select(x, 1, index);
            SH_WITH_BACKEND("ref") plain = sh_index_select(x, 1, index);
            cr_assert(sample_same(fast, plain), "round %d", round);
            sh_tensor *table = sh_select(x, 0, 0), *rows = sh_embedding(table, index);
            SH_WITH_BACKEND("ref") plain = sh_embedding(table, index);
            cr_assert(sample_same(rows, plain), "round %d", round);
        }
    }
}

static bool picks(void) {
    sh_tensor *table = sh_rand(SH_SIZES(6, 5)), *index = sh_randint(6, SH_SIZES(4), .dtype = SH_I32);
    return sh_index_select(table, 0, index) && sh_embedding(table, index);
}

Test(rows, every_allocation_may_fail) { ar_fail_each("index_select and embedding", picks); }

Test(rows, an_index_outside_is_named_with_its_place) {
    sh_tensor *table = sh_rand(SH_SIZES(6, 5)), *index = SH_INT64S(0, 5, 6, -1);
    cr_assert(eq(ptr, sh_index_select(table, 0, index), NULL));
    cr_assert(ne(ptr, strstr(sh_error()->message, "index[2] is 6, expected 0 to 5"), NULL));
    sh_clear_error();
    cr_assert(eq(ptr, sh_embedding(table, sh_narrow(index, 0, 3, 1)), NULL));
    cr_assert(ne(ptr, strstr(sh_error()->message, "index -1 in indices, expected 0 to 5"), NULL));
}
