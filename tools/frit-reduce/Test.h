//===- Test.h - The interestingness test ----------------------------------===//

#ifndef FRIT_TOOLS_FRIT_REDUCE_TEST_H
#define FRIT_TOOLS_FRIT_REDUCE_TEST_H

#include "compiler/onnx/onnx.pb.h"
#include "compiler/support/Progress.h"
#include "compiler/support/TemporaryFolder.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace frit::reduce {

/// The user's program. It exits with 0 if the model whose file is its last
/// argument is interesting.
class Test {
public:
  /// Creates a test. `arguments` come before the file's name. A run that takes
  /// longer than `seconds` (0: no limit) counts as not interesting. `progress`
  /// shows the runs, and without it their output is shown.
  static llvm::Expected<Test> create(llvm::StringRef program,
                                     std::vector<std::string> arguments,
                                     unsigned seconds, Progress *progress);

  /// Runs the test, once per distinct model. Fails if it cannot be run.
  llvm::Expected<bool> isInteresting(const onnx::ModelProto &model);

  unsigned runs() const { return numRuns; }
  /// Returns the exit status of the last run.
  int lastStatus() const { return status; }

private:
  Test() = default;

  std::string program;
  std::vector<std::string> arguments;
  unsigned seconds = 0, numRuns = 0;
  int status = 0;
  Progress *progress = nullptr;
  TemporaryFolder folder;
  std::string file;           ///< the model that is tested
  llvm::StringMap<bool> seen; ///< by the model's digest
};

} // namespace frit::reduce

#endif // FRIT_TOOLS_FRIT_REDUCE_TEST_H
