//===- OutOfMemory.h - End when memory runs out ---------------------------===//
//
// LLVM and NVRTC do not return from an allocation that fails: they end the
// program as by a bug of theirs, some on one of their own threads, some after
// reading a null pointer. So fritc ends before they do.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TOOLS_FRITC_OUTOFMEMORY_H
#define FRIT_TOOLS_FRITC_OUTOFMEMORY_H

namespace frit {

/// Makes a lack of memory or of threads, anywhere in the program, end it with
/// the status kMachine and one line. Failed calls of malloc() do so without
/// this. Call this before any handler of fatal signals is added to LLVM's.
void handleOutOfMemory();

} // namespace frit

#endif // FRIT_TOOLS_FRITC_OUTOFMEMORY_H
