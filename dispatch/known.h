/* known.h - what is known of the numbers in a storage, so that nobody has to look at them again.
 *
 * A fact is about all of a storage, and holds while its version stays what it was. Only the library's writes raise the
 * version. So a storage whose data pointer was ever handed out (sh_tensor_data, DLPack) is never known again, nor is memory
 * that the user owns; nor one embedded in a tensor's record, which is read sooner than asked about. Threads may ask and tell
 * at any time; data that one writes while another reads it is theirs to keep apart, here as everywhere. */
#ifndef SH_DISPATCH_KNOWN_H
#define SH_DISPATCH_KNOWN_H

#include "dispatch/op.h"
#include "dispatch/tensor.h"

typedef enum sh_known { SH_KNOWN_NOTHING, SH_KNOWN_NO_NAN, SH_KNOWN_FINITE } sh_known;

/* What is known of t's elements, by what was told of all its storage. */
sh_known sh__known(const sh_tensor *t);
/* Says that it holds of every element of t. Kept where t is the whole of a storage that nobody else can write to. */
void sh__know(const sh_tensor *t, sh_known what);
/* After a write that may have been cut short. */
void sh__forget(const sh_tensor *t);

/* Will the call go straight from the mode whose callback runs to the kernel that the library brings for its op, and will
 * that call no other op? If not, what comes back may be anything. May leave an error pending, which sh_next then returns. */
bool sh__runs_builtin_next(sh_call *call);

#endif
