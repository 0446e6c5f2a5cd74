/* bound.c - stands between libFuzzer and a target, and counts what each input has allocated at a time: 64 MiB and 8 times
 * the input is the most, as the readers promise. Linked with --wrap=LLVMFuzzerTestOneInput. */
#include <sanitizer/allocator_interface.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BASE = 64 << 20, FACTOR = 8 };

int __real_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int64_t held, most;

static void on_malloc(const volatile void *block, size_t size) {
    (void)block;
    held += (int64_t)size;
    if (held > most) most = held;
}

static void on_free(const volatile void *block) {
    if (block) held -= (int64_t)__sanitizer_get_allocated_size(block);
}

int __wrap_LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool installed;
    if (!installed) __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free);
    installed = true;
    held = most = 0;
    const int64_t limit = BASE + FACTOR * (int64_t)size;
    const int result = __real_LLVMFuzzerTestOneInput(data, size);
    if (most <= limit) return result;
    fprintf(stderr, "an input of %zu bytes took %lld bytes of memory, the most is %lld\n", size,
            (long long)most, (long long)limit);
    abort();
}
