//===- OlderTrees.cpp - Ensembles of decision trees before opset 5 --------===//
//
// TreeEnsembleClassifier and TreeEnsembleRegressor. Nodes and leaves are
// identified by a tree number and a node number. A leaf has weights for any
// number of targets.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/tables/Tables.h"
#include "compiler/onnx/tables/Trees.h"
#include "dialects/nn/Fold.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Names of modes, by Mode.
static constexpr StringRef modeNames[] = {"BRANCH_LEQ", "BRANCH_LT",
                                          "BRANCH_GTE", "BRANCH_GT",
                                          "BRANCH_EQ",  "BRANCH_NEQ"};

std::optional<Trees::Lists> Trees::readLists(StringRef prefix) {
  auto list = [&](const Twine &name) { return integers(name.str()); };
  // In double precision the same numbers are tensors.
  auto numbers = [&](const Twine &name) {
    auto values = node.reals(name.str());
    auto wide = reals((name + "_as_tensor").str());
    return wide.empty() ? SmallVector<double>(values) : wide;
  };
  Lists lists;
  lists.tree = list("nodes_treeids");
  lists.id = list("nodes_nodeids");
  lists.feature = list("nodes_featureids");
  lists.yes = list("nodes_truenodeids");
  lists.no = list("nodes_falsenodeids");
  lists.track = list("nodes_missing_value_tracks_true");
  lists.leafTree = list(prefix + "_treeids");
  lists.leafId = list(prefix + "_nodeids");
  lists.target = list(prefix + "_ids");
  lists.split = numbers("nodes_values");
  lists.weight = numbers(prefix + "_weights");
  lists.mode = node.strings("nodes_modes");
  node.ignore("nodes_hitrates");
  node.ignore("nodes_hitrates_as_tensor");
  if (node.failed)
    return std::nullopt;
  size_t count = lists.tree.size(), weights = lists.weight.size();
  if (lists.track.empty())
    lists.track.resize(count, 0);
  for (size_t size : {lists.id.size(), lists.feature.size(), lists.yes.size(),
                      lists.no.size(), lists.track.size(), lists.split.size(),
                      lists.mode.size()})
    if (size != count) {
      node.error() << "its attributes describe " << count << " nodes and "
                   << size;
      return std::nullopt;
    }
  if (lists.leafTree.size() != weights || lists.leafId.size() != weights ||
      lists.target.size() != weights) {
    node.error() << "its attributes describe " << weights
                 << " weights of leaves, for " << lists.leafTree.size()
                 << " trees, " << lists.leafId.size() << " nodes and "
                 << lists.target.size() << " targets";
    return std::nullopt;
  }
  return lists;
}

std::optional<int64_t> Trees::numberNodes(const Lists &lists,
                                          Numbers &numbers) {
  int64_t leaves = 0, inner = 0;
  nodes = llvm::count_if(lists.mode, [](StringRef m) { return m != "LEAF"; });
  for (auto [tree, id, mode] :
       llvm::zip_equal(lists.tree, lists.id, lists.mode)) {
    bool isLeaf = mode == "LEAF";
    if (!isLeaf && !llvm::is_contained(modeNames, mode)) {
      node.error() << "a node's mode '" << mode << "' is not supported";
      return std::nullopt;
    }
    int64_t number = isLeaf ? nodes + leaves++ : inner++;
    if (!numbers.try_emplace({tree, id}, number).second) {
      node.error() << "has node " << id << " of tree " << tree << " twice";
      return std::nullopt;
    }
  }
  return leaves;
}

int64_t Trees::find(const Numbers &numbers, int64_t tree, int64_t id) {
  auto found = numbers.find({tree, id});
  if (found != numbers.end())
    return found->second;
  node.error() << "tree " << tree << " has no node " << id;
  return 0;
}

/// Adds the nodes, and the roots: those that follow no other node.
bool Trees::addNodes(const Lists &lists, const Numbers &numbers) {
  size_t count = lists.tree.size();
  llvm::BitVector isChild(count);
  for (size_t i = 0; i < count && !node.failed; ++i) {
    if (lists.mode[i] == "LEAF")
      continue;
    features.push_back(lists.feature[i]);
    modes.push_back(llvm::find(modeNames, lists.mode[i]) - modeNames);
    tracks.push_back(lists.track[i] != 0);
    setOf.push_back(0);
    splits.push_back(lists.split[i]);
    for (int64_t child : {lists.yes[i], lists.no[i]}) {
      next.push_back(find(numbers, lists.tree[i], child));
      isChild.set(next.back());
    }
  }
  std::map<int64_t, int64_t> rootsOf;
  for (size_t i = 0; i < count && !node.failed; ++i) {
    int64_t root = find(numbers, lists.tree[i], lists.id[i]);
    rootsOf[lists.tree[i]] += !isChild[root];
    if (!isChild[root])
      roots.push_back(root);
  }
  for (auto [tree, found] : rootsOf)
    if (!node.failed && found != 1)
      node.error() << "tree " << tree << " has " << found << " roots";
  return !node.failed;
}

bool Trees::addWeights(const Lists &lists, const Numbers &numbers,
                       int64_t leaves, int64_t targetCount) {
  table.resize(leaves * targetCount, 0);
  given.resize(leaves * targetCount, 0);
  if (!check(lists.target, "a leaf adds to target", targetCount))
    return false;
  for (auto [tree, leaf, to, weight] : llvm::zip_equal(
           lists.leafTree, lists.leafId, lists.target, lists.weight)) {
    int64_t at = find(numbers, tree, leaf) - nodes;
    if (!node.failed && at < 0)
      node.error() << "node " << leaf << " of tree " << tree
                   << " has a weight, but is no leaf";
    if (node.failed)
      return false;
    table[at * targetCount + to] += weight;
    ++given[at * targetCount + to];
  }
  return true;
}

bool Trees::readLegacy(StringRef prefix, int64_t columns, int64_t targetCount) {
  std::optional<Lists> lists = readLists(prefix);
  if (!lists)
    return false;
  Numbers numbers;
  std::optional<int64_t> leaves = numberNodes(*lists, numbers);
  if (!leaves || !addNodes(*lists, numbers))
    return false;
  if (roots.empty() || *leaves == 0 || *leaves > mostInTable / targetCount) {
    node.error() << "has " << roots.size() << " trees with " << *leaves
                 << " leaves for " << targetCount
                 << " targets; it needs at least one, and at most "
                 << mostInTable << " weights";
    return false;
  }
  return addWeights(*lists, numbers, *leaves, targetCount) &&
         finish(columns, *leaves);
}

/// Returns the rows of input 0, whose features compare with splits as floats.
static Expr comparedRows(Node &node) {
  Expr x = input(node, 0);
  if (x && x.rank() != 2)
    node.error() << "needs rows of features, but has "
                 << nn::shapeText(x.shape());
  if (!x || x.isFloat())
    return x;
  return x.to(node.builder().getF32Type());
}

/// Combines the weights of each row's leaves to rows×targets, in f32.
static Expr combined(const Trees &trees, Expr x, int64_t targets,
                     nn::Combiner kind) {
  Node &node = *x.node;
  auto leaves = static_cast<int64_t>(trees.table.size()) / targets;
  return table(node, node.builder().getF32Type(), {leaves, targets},
               trees.table)
      .gather(trees.leavesOf(x), 0)
      .reduce(kind, {1})
      .reshape({x.size(0), targets});
}

/// Returns the attribute base_values, which may be a tensor.
static SmallVector<double> baseValues(Node &node) {
  SmallVector<double> values(node.reals("base_values"));
  Value wide = node.tensorValue("base_values_as_tensor");
  if (!wide || isStrings(wide))
    return values;
  DenseElementsAttr known =
      nn::constantValue(node.cast(wide, node.builder().getF64Type()));
  return known ? SmallVector<double>(known.getValues<double>()) : values;
}

/// Adds one number per target, or one number to all.
static Expr addBase(Expr y, ArrayRef<double> base) {
  Node &node = *y.node;
  if (base.empty())
    return y;
  auto count = static_cast<int64_t>(base.size());
  if (count == 1 || count == y.size(1))
    return y + table(node, y.element(), {count}, base);
  node.error() << "has " << count << " base values for " << y.size(1)
               << " targets";
  return y;
}

Results frit::importer::treeEnsembleRegressor(Node &node) {
  Expr x = comparedRows(node);
  int64_t targets = node.integer("n_targets", 1);
  StringRef aggregate = node.string("aggregate_function", "SUM");
  auto base = baseValues(node);
  if (!node.failed && (targets < 1 || targets > mostInTable))
    node.error() << "needs 1 to " << mostInTable << " targets, not " << targets;
  Trees trees(node);
  if (node.failed || !trees.readLegacy("target", x.size(1), targets))
    return {};
  auto kind = aggregate == "MIN"   ? nn::Combiner::min
              : aggregate == "MAX" ? nn::Combiner::max
                                   : nn::Combiner::sum;
  if (kind == nn::Combiner::sum && aggregate != "SUM" && aggregate != "AVERAGE")
    node.error() << "aggregate_function '" << aggregate << "' is not supported";
  if (kind != nn::Combiner::sum && llvm::is_contained(trees.given, 0))
    node.error() << "with aggregate_function '" << aggregate
                 << "' needs a weight for each target in each leaf";
  if (node.failed)
    return {};
  Expr y = combined(trees, x, targets, kind);
  if (aggregate == "AVERAGE")
    y = y / static_cast<double>(trees.roots.size());
  return {transformed(addBase(y, base))};
}

/// Returns the scores of two classes from the only score, that of the second.
/// The first class's score is 1 - score if `isShare`, where all weights are
/// positive, else -score. Models write the only score with the first label.
static Expr binaryScores(Expr score, bool isShare) {
  Node &node = *score.node;
  Expr other = isShare ? 1.0 - score : 0.0 - score;
  Expr both = {node, node.create<nn::ConcatOp>({other, score},
                                               node.namedSigned("axis", 1))};
  if (isShare && node.string("post_transform", "NONE") == "LOGISTIC")
    return both;
  return transformed(both);
}

/// Imports TreeEnsembleClassifier. Results: the label of each row's largest
/// score, and the scores.
Results frit::importer::treeEnsembleClassifier(Node &node) {
  Expr x = comparedRows(node);
  auto labels = labelsOf(node, "classlabels_int64s");
  auto base = baseValues(node);
  if (!node.failed && labels && labels->size() > size_t(mostInTable))
    node.error() << "has more than " << mostInTable << " labels";
  Trees trees(node);
  if (node.failed)
    return {};
  auto count = static_cast<int64_t>(labels->size());
  if (!trees.readLegacy("class", x.size(1), count))
    return {};
  auto hasWeights = [&](int64_t c) {
    for (size_t i = c; i < trees.given.size(); i += count)
      if (trees.given[i])
        return true;
    return false;
  };
  bool isShare = llvm::all_of(trees.table, [](double w) { return w >= 0; });
  Expr all = combined(trees, x, count, nn::Combiner::sum);
  if (count == 2 && hasWeights(0) != hasWeights(1)) {
    bool ofSecond = hasWeights(1);
    if (base.size() > (ofSecond ? 0 : 1))
      node.error() << "has " << base.size() << " base values, but weights for "
                   << "one of two labels";
    if (node.failed)
      return {};
    Expr score = addBase(all.slice(1, ofSecond, 1), base);
    Type i64 = node.builder().getI64Type();
    Expr best = (score > (isShare ? 0.5 : 0.0)).to(i64).reshape({x.size(0)});
    return {labels->at(best),
            ofSecond ? transformed(all) : binaryScores(score, isShare)};
  }
  // ONNX Runtime skips classes for which no leaf of a row has a weight, which
  // changes nothing if all others are positive.
  if (!isShare)
    for (int64_t c = 0; c < count; ++c)
      if (!hasWeights(c)) {
        node.error() << "has no weight for label " << labels->names[c]
                     << ", but negative ones for others";
        return {};
      }
  Expr y = addBase(all, base);
  Expr best = y.apply<nn::ArgMaxOp>(
      {}, {node.namedSigned("axis", 1), node.namedSigned("keepdims", 0)});
  return {labels->at(best), transformed(y)};
}
