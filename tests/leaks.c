/* leaks.c - whose leaks count under a leak sanitizer: each test's own process, and every other program.
 *
 * Criterion's own process, which starts those of the tests, now and then leaves 48 bytes of Criterion's behind. A test's
 * process is told by the variable through which it gets its work. */
#include <stdlib.h>

int criterion_run_all_tests(void *set) __attribute__((weak));
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);

int __lsan_is_turned_off(void) { return criterion_run_all_tests && !getenv("BXFI_MAP"); }
