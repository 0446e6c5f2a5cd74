/* verbose.c - lines about calls, and the last words before a crash. The handler only writes text that was made before the
 * kernel began, so all that it does may be done in a signal handler. */
#include "dispatch/verbose.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dispatch/memory_impl.h"
#include "dispatch/options.h"
#include "dispatch/registry.h"
#include "dispatch/suggest.h"
#include "dispatch/watch.h"

atomic_uint sh__verbose;

/* ---- one line a call ---- */

void sh__verbose_call(const sh_call *call, uint32_t backend, const sh_slot *ran, const sh_tried *tried,
                      sh_status status) {
    char text[320], others[512];
    sh_call shown = *call;
    shown.has_result = 0;
    sh_call_print(&shown, text, sizeof text);
    const size_t n = sh__candidates_print(call, backend, ran, tried, others, sizeof others);
    sh_warn("dispatch: %s on %s: %s%s%s (%s) %s", text, sh__device_name(call->device), others, n ? "; " : "",
            ran->registrant, ran->backend, status < 0 ? "failed" : "ran");
}

/* ---- last words ---- */

static __thread sh_flight *innermost __attribute__((tls_model("initial-exec")));

void sh__flight_begin(sh_flight *flight, const sh_call *call, const sh_slot *slot) {
    char call_text[320];
    sh_call shown = *call;
    shown.has_result = 0;
    sh_call_print(&shown, call_text, sizeof call_text);
    snprintf(flight->text, sizeof flight->text, "shunt: crashed in %s, kernel %s (%s)\n", call_text,
             slot->registrant, slot->backend);
    flight->outer = innermost;
    innermost = flight;
}

void sh__flight_end(const sh_flight *flight) { innermost = flight->outer; }

static const int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
enum { SIGNALS = sizeof signals / sizeof *signals };
static struct sigaction before[SIGNALS];

static void last_words(void) {
    for (const sh_flight *f = innermost; f; f = f->outer)
        if (write(STDERR_FILENO, f->text, strlen(f->text)) < 0) return;
    innermost = NULL;
}

/* What was installed before has its say; where that was nothing the signal comes again and ends the process. */
static void on_signal(int number, siginfo_t *info, void *context) {
    last_words();
    for (int i = 0; i < SIGNALS; i++) {
        if (signals[i] != number) continue;
        const struct sigaction *old = &before[i];
        if (old->sa_flags & SA_SIGINFO) {
            old->sa_sigaction(number, info, context);
        } else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
            old->sa_handler(number);
        } else {
            sigaction(number, old, NULL);
            if (info->si_code <= 0) raise(number);
        }
    }
}

static void install_handlers(void) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < SIGNALS; i++) sigaction(signals[i], &action, &before[i]);
}

/* Where another handler was installed since it stays, and calls ours, which then only calls on. */
static void remove_handlers(void) {
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        if (sigaction(signals[i], NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
            now.sa_sigaction == on_signal)
            sigaction(signals[i], &before[i], NULL);
    }
}

/* ---- the switch ---- */

static sh_status read_words(const char *text, uint32_t *set) {
    static const char *const words[] = {"dispatch", "crash"};
    sh_spec_reader r = {text, text};
    *set = 0;
    for (;;) {
        sh__reader_blanks(&r);
        const char *place = r.at;
        char *word = sh__reader_word(&r, ",");
        if (!word) return SH_ERROR_MEMORY;
        const uint32_t had = *set;
        for (int i = 0; i < 2; i++)
            if (strcmp(word, words[i]) == 0) *set |= 1u << i;
        const bool known = *set != had || strcmp(word, "dispatch") == 0 || strcmp(word, "crash") == 0;
        sh_status status = SH_OK;
        if (!known)
            status = sh__reader_bad(&r, place, "nothing verbose is called", word, sh_suggest(word, words, 2));
        sh__free(word);
        SH_TRY(status);
        if (*r.at != ',') return SH_OK;
        r.at++;
    }
}

sh_status sh_set_verbose(const char *what) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    uint32_t set = 0;
    if (sh__error_pending()) return sh_error()->code;
    if (what && *what) SH_TRY(read_words(what, &set));
    pthread_mutex_lock(&lock);
    const uint32_t had = atomic_exchange(&sh__verbose, set);
    if ((set & ~had) & SH_VERBOSE_CRASH) install_handlers();
    if ((had & ~set) & SH_VERBOSE_CRASH) remove_handlers();
    sh__table_lock();
    atomic_store(&sh__table_watched, set != 0);
    sh__slots_publish_all();
    sh__table_unlock();
    pthread_mutex_unlock(&lock);
    return SH_OK;
}
