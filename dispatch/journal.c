#include "dispatch/journal.h"

#include "dispatch/cold.h"

sh_status sh__journal_open(sh_journal *journal) {
    sh_thread_cold *cold = sh__cold();
    if (!cold) return SH_ERROR_MEMORY;
    *journal = (sh_journal){.outer = cold->journal};
    cold->journal = journal;
    return SH_OK;
}

void sh__journal_close(sh_journal *journal) { sh__thread.cold->journal = journal->outer; }

static sh_journal *open_journal(void) { return sh__thread.cold ? sh__thread.cold->journal : NULL; }

sh_status sh__journal_reserve(void) {
    sh_journal *j = open_journal();
    if (!j || j->n < j->capacity) return SH_OK;
    const size_t capacity = j->capacity ? j->capacity * 2 : 16;
    sh_journal_entry *entries = sh__realloc(j->entries, capacity * sizeof *entries);
    if (!entries) return SH_ERROR_MEMORY;
    j->entries = entries;
    j->capacity = capacity;
    return SH_OK;
}

void sh__journal_note(void (*undo)(uint64_t what), uint64_t what) {
    sh_journal *j = open_journal();
    if (j) j->entries[j->n++] = (sh_journal_entry){undo, what};
}

/* What its maker took back itself fails to be undone; that is no error. */
void sh__journal_undo(sh_journal *journal) {
    sh_aside aside;
    sh__error_put_aside(&aside);
    while (journal->n) {
        const sh_journal_entry *entry = &journal->entries[--journal->n];
        entry->undo(entry->what);
        sh_clear_error();
    }
    sh__error_put_back(&aside);
    sh__free(journal->entries);
    *journal = (sh_journal){0};
}
