/* For the plain loops of files that are compiled once a level: INDEPENDENT stands before a loop whose elements
 * don't depend on each other, so that a result may be an operand, element on element, and the compiler vectorise
 * nevertheless. Where it can't (a call in the body) it need not say so. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif
