//===- Graph.cpp - Sort a graph's nodes -----------------------------------===//

#include "compiler/onnx/reader/Importer.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace frit::importer;
using ::onnx::NodeProto;

namespace {

/// Depth-first search with an explicit stack, because a chain of nodes may be
/// very long.
class Sorter {
public:
  Sorter(const Nodes &nodes, llvm::function_ref<bool(StringRef)> isGiven,
         llvm::function_ref<Location(const NodeProto &)> locate)
      : nodes(nodes), isGiven(isGiven), locate(locate),
        states(nodes.size(), unseen) {}

  std::optional<Order> run() {
    indexOutputs();
    for (int root = 0; root < nodes.size() && !hasCycle; ++root)
      visit(root);
    if (failed)
      return std::nullopt;
    return std::move(order);
  }

private:
  enum State : char { unseen, open, done };
  struct Frame {
    int node, nextInput;
  };

  static StringRef name(const NodeProto &node) {
    if (!node.name().empty() || node.output().empty())
      return text(node.name());
    return text(node.output(0));
  }

  void indexOutputs() {
    for (int i = 0; i < nodes.size(); ++i)
      for (const std::string &output : nodes[i].output()) {
        if (output.empty())
          continue;
        if (isGiven(output)) {
          failed = true;
          emitError(locate(nodes[i]))
              << "computes '" << text(output)
              << "', which is an input or a weight of the graph";
          continue;
        }
        auto [it, isNew] = producers.try_emplace(output, i);
        if (!isNew) {
          failed = true;
          emitError(locate(nodes[i]))
              << "computes '" << text(output) << "', as does node '"
              << name(nodes[it->second]) << "'";
        }
      }
  }

  void visit(int root) {
    if (states[root] != unseen)
      return;
    std::vector<Frame> stack = {{root, 0}};
    states[root] = open;
    while (!stack.empty()) {
      auto &[i, nextInput] = stack.back();
      const NodeProto &node = nodes[i];
      if (nextInput == node.input_size()) {
        states[i] = done;
        order.push_back(&node);
        stack.pop_back();
        continue;
      }
      const std::string &input = node.input(nextInput++);
      if (input.empty())
        continue;
      auto it = producers.find(input);
      if (it == producers.end()) {
        if (!isGiven(input)) {
          failed = true;
          emitError(locate(node))
              << "reads '" << text(input) << "', which nothing computes";
        }
        continue;
      }
      int producer = it->second;
      if (states[producer] == open)
        return reportCycle(stack, producer);
      if (states[producer] == unseen) {
        states[producer] = open;
        stack.push_back({producer, 0});
      }
    }
  }

  void reportCycle(ArrayRef<Frame> stack, int first) {
    failed = hasCycle = true;
    constexpr size_t mostNames = 8;
    auto start = llvm::find_if(
        stack, [&](const Frame &frame) { return frame.node == first; });
    auto cycle = stack.drop_front(start - stack.begin());
    auto diagnostic = emitError(locate(nodes[first]));
    diagnostic << "depends on its own result: '" << name(nodes[first]) << "'";
    for (auto [n, frame] : llvm::enumerate(llvm::drop_begin(cycle))) {
      if (n == mostNames) {
        diagnostic << " reads ...";
        break;
      }
      diagnostic << " reads '" << name(nodes[frame.node]) << "'";
    }
    diagnostic << " reads '" << name(nodes[first]) << "'";
  }

  const Nodes &nodes;
  llvm::function_ref<bool(StringRef)> isGiven;
  llvm::function_ref<Location(const NodeProto &)> locate;
  llvm::StringMap<int> producers;
  std::vector<State> states;
  Order order;
  bool failed = false, hasCycle = false;
};

} // namespace

std::optional<Order> frit::importer::sortNodes(
    const Nodes &nodes, llvm::function_ref<bool(StringRef)> isGiven,
    llvm::function_ref<Location(const NodeProto &)> locate) {
  return Sorter(nodes, isGiven, locate).run();
}
