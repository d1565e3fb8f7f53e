//===- KeepList.h - Names of nodes for -fkeep-fp32 ------------------------===//

#ifndef FRIT_TOOLS_FRIT_RUN_KEEPLIST_H
#define FRIT_TOOLS_FRIT_RUN_KEEPLIST_H

#include <set>
#include <string>

namespace frit::run {

/// The file of fritc -fkeep-fp32: a pattern per line, each of which matches
/// exactly one node's name.
class KeepList {
public:
  /// Adds the nodes that a step computes, such as "node 'a' (Gemm, opset 17),
  /// node 'b' (Relu, opset 17)".
  void add(const std::string &nodes);

  const std::string &text() const { return lines; }

private:
  std::set<std::string> names;
  std::string lines;
};

} // namespace frit::run

#endif // FRIT_TOOLS_FRIT_RUN_KEEPLIST_H
