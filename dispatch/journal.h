/* journal.h - what was registered while a journal was open on this thread, so that all of it can be taken back.
 *
 * Whatever registers something process-wide reserves a place before it begins and notes how to undo it when it is done. */
#ifndef SH_DISPATCH_JOURNAL_H
#define SH_DISPATCH_JOURNAL_H

#include "dispatch/status.h"

typedef struct sh_journal_entry {
    void (*undo)(uint64_t what);
    uint64_t what;
} sh_journal_entry;

typedef struct sh_journal {
    sh_journal_entry *entries;
    size_t n, capacity;
    struct sh_journal *outer; /* open on this thread before */
} sh_journal;

sh_status sh__journal_open(sh_journal *journal);
void sh__journal_close(sh_journal *journal);
/* Room for one more note; nothing to do where none is open. Exported for libraries on top alone, as the next. */
sh_status sh__journal_reserve(void);
void sh__journal_note(void (*undo)(uint64_t what), uint64_t what);
/* Takes everything back, the last first, and frees the journal. A pending error stays as it is. */
void sh__journal_undo(sh_journal *journal);

#endif
