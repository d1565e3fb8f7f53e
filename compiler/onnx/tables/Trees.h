//===- Trees.h - Ensembles of decision trees ------------------------------===//

#ifndef FRIT_COMPILER_ONNX_TABLES_TREES_H
#define FRIT_COMPILER_ONNX_TABLES_TREES_H

#include "compiler/onnx/reader/Expr.h"

#include <map>
#include <vector>

namespace frit::importer {

/// The trees of a node. Leaf i is node `nodes` + i.
class Trees {
public:
  explicit Trees(Node &node) : node(node) {}

  /// Reads and checks the trees of a TreeEnsemble; reports what is wrong with
  /// them.
  bool read(int64_t columns, int64_t targetCount);

  /// Reads a TreeEnsembleClassifier or TreeEnsembleRegressor. The leaves'
  /// weights, in attributes that begin with `prefix`, become `table`,
  /// leaves×targets; `given` counts those of each entry.
  bool readLegacy(llvm::StringRef prefix, int64_t columns, int64_t targetCount);

  /// Returns the leaf, counted from 0, that each row of `x` reaches in each
  /// tree.
  Expr leavesOf(Expr x) const;

  llvm::SmallVector<int64_t> roots, targets;
  llvm::SmallVector<double> weights;
  llvm::SmallVector<double> table;
  llvm::SmallVector<int64_t> given;

private:
  /// The attributes of an older operator: lists that run in parallel.
  struct Lists {
    /// One of each per node.
    llvm::SmallVector<int64_t> tree, id, feature, yes, no, track;
    llvm::SmallVector<double> split;
    llvm::SmallVector<llvm::StringRef> mode;
    /// One of each per weight of a leaf.
    llvm::SmallVector<int64_t> leafTree, leafId, target;
    llvm::SmallVector<double> weight;
  };
  /// Numbers of nodes and leaves by tree and id.
  using Numbers = std::map<std::pair<int64_t, int64_t>, int64_t>;

  std::optional<Lists> readLists(llvm::StringRef prefix);
  /// Returns the number of leaves.
  std::optional<int64_t> numberNodes(const Lists &lists, Numbers &numbers);
  /// Returns the number of a node; reports an error if there is none.
  int64_t find(const Numbers &numbers, int64_t tree, int64_t id);
  bool addNodes(const Lists &lists, const Numbers &numbers);
  bool addWeights(const Lists &lists, const Numbers &numbers, int64_t leaves,
                  int64_t targetCount);

  /// How a node compares its feature with its split.
  enum Mode { lessEqual, less, greaterEqual, greater, equal, notEqual, member };

  llvm::SmallVector<int64_t> integers(llvm::StringRef name) {
    return node.integers(name).value_or(llvm::SmallVector<int64_t>());
  }
  llvm::SmallVector<double> reals(llvm::StringRef name);
  /// Returns whether all `ids` are below `limit`; reports an error otherwise
  /// that begins with `what`.
  bool check(llvm::ArrayRef<int64_t> ids, llvm::StringRef what, int64_t limit);
  bool readMembers(llvm::ArrayRef<double> values);
  bool finish(int64_t columns, int64_t leaves);
  bool findDepth();
  /// Returns entries of a table, one per node, at the nodes `at`.
  Expr pick(Expr at, llvm::ArrayRef<int64_t> entries) const {
    return importer::table(node, {static_cast<int64_t>(entries.size())},
                           entries)
        .gather(at, 0);
  }
  Expr pick(Expr at, mlir::Type element, llvm::ArrayRef<double> entries) const {
    return importer::table(node, element,
                           {static_cast<int64_t>(entries.size())}, entries)
        .gather(at, 0);
  }
  Expr goesToTrue(Expr x, Expr at) const;

  Node &node;
  int64_t nodes = 0, depth = 0, longestSet = 0;
  /// One per node, leaves included: feature, mode, number of its set, and
  /// whether a NaN goes to the true branch.
  llvm::SmallVector<int64_t> features, modes, setOf, tracks;
  llvm::SmallVector<double> splits;
  /// The nodes after each one, for true and for false.
  llvm::SmallVector<int64_t> next;
  std::vector<llvm::SmallVector<double>> sets;
};

/// In OlderTrees.cpp.
Results treeEnsembleClassifier(Node &node);
Results treeEnsembleRegressor(Node &node);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_TABLES_TREES_H
