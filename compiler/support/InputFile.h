//===- InputFile.h - Files that can be read to their end ------------------===//

#ifndef FRIT_COMPILER_SUPPORT_INPUTFILE_H
#define FRIT_COMPILER_SUPPORT_INPUTFILE_H

#include <string>
#include <system_error>

namespace frit {

/// Returns why `path` is not read as a whole: it is a device, which may have no
/// end. Success for all else, also for pipes, for the null device, and for what
/// does not exist.
std::error_code checkInput(const std::string &path);

} // namespace frit

#endif // FRIT_COMPILER_SUPPORT_INPUTFILE_H
