#include "dispatch/environment.h"

#include <pthread.h>
#include <stdlib.h>

#include "dispatch/status.h"

#if defined(__SANITIZE_ADDRESS__)
#define DEFAULT_CACHE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DEFAULT_CACHE 0
#endif
#endif
#ifndef DEFAULT_CACHE
#define DEFAULT_CACHE ((size_t)256 << 20)
#endif

static size_t limit = DEFAULT_CACHE;

static void read_once(void) {
    const char *text = secure_getenv("SHUNT_CACHE");
    if (!text || !*text) return;
    char *end;
    const unsigned long long bytes = strtoull(text, &end, 10);
    if (*end || *text == '-')
        sh_warn("SHUNT_CACHE=%s: expected a number of bytes (0 turns caching off)", text);
    else
        limit = (size_t)bytes;
}

size_t sh__environment_cache_limit(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_once);
    return limit;
}
