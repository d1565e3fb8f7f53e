//===- Test.h - Whether a model is still interesting ----------------------===//

#ifndef FRIT_REDUCE_TEST_H
#define FRIT_REDUCE_TEST_H

#include "compiler/driver/TemporaryFolder.h"
#include "compiler/onnx/onnx.pb.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace frit::reduce {

/// The user's program, which ends with 0 on models that are interesting. Its
/// last argument is the model's file.
class Test {
public:
  /// Of a program and its first arguments; a run that takes longer than
  /// `seconds` finds nothing interesting, 0 being no limit.
  static llvm::Expected<Test> create(llvm::StringRef program,
                                     std::vector<std::string> arguments,
                                     unsigned seconds, bool isQuiet);

  /// Runs the test, once for equal models. An error where it cannot be run.
  llvm::Expected<bool> isInteresting(const onnx::ModelProto &model);

  unsigned runs() const { return numRuns; }
  /// How the last run ended.
  int lastStatus() const { return status; }

private:
  Test() = default;

  std::string program;
  std::vector<std::string> arguments;
  unsigned seconds = 0, numRuns = 0;
  int status = 0;
  bool isQuiet = true;
  TemporaryFolder folder;
  std::string file;           ///< the model that is tested
  llvm::StringMap<bool> seen; ///< by the model's digest
};

} // namespace frit::reduce

#endif // FRIT_REDUCE_TEST_H
