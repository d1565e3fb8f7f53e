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

#include <map>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

bool Trees::readLegacy(StringRef prefix, int64_t columns, int64_t targetCount) {
  auto list = [&](const Twine &name) { return integers(name.str()); };
  // In double precision the same numbers are tensors.
  auto numbers = [&](const Twine &name) {
    auto values = node.reals(name.str());
    auto wide = reals((name + "_as_tensor").str());
    return wide.empty() ? SmallVector<double>(values) : wide;
  };
  auto tree = list("nodes_treeids"), id = list("nodes_nodeids"),
       feature = list("nodes_featureids"), yes = list("nodes_truenodeids"),
       no = list("nodes_falsenodeids"),
       track = list("nodes_missing_value_tracks_true"),
       leafTree = list(prefix + "_treeids"), leafId = list(prefix + "_nodeids"),
       target = list(prefix + "_ids");
  auto split = numbers("nodes_values"), weight = numbers(prefix + "_weights");
  auto mode = node.strings("nodes_modes");
  node.ignore("nodes_hitrates");
  node.ignore("nodes_hitrates_as_tensor");
  if (node.failed)
    return false;
  size_t count = tree.size();
  if (track.empty())
    track.resize(count, 0);
  for (size_t size : {id.size(), feature.size(), yes.size(), no.size(),
                      track.size(), split.size(), mode.size()})
    if (size != count) {
      node.error() << "its attributes describe " << count << " nodes and "
                   << size;
      return false;
    }
  if (leafTree.size() != weight.size() || leafId.size() != weight.size() ||
      target.size() != weight.size()) {
    node.error() << "its attributes describe " << weight.size()
                 << " weights of leaves, for " << leafTree.size() << " trees, "
                 << leafId.size() << " nodes and " << target.size()
                 << " targets";
    return false;
  }
  // Numbers of nodes and leaves by tree and id.
  constexpr StringRef names[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                 "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  std::map<std::pair<int64_t, int64_t>, int64_t> number;
  int64_t leaves = 0;
  nodes = llvm::count_if(mode, [](StringRef m) { return m != "LEAF"; });
  for (size_t i = 0, inner = 0; i < count; ++i) {
    bool isLeaf = mode[i] == "LEAF";
    if (!isLeaf && !llvm::is_contained(names, mode[i])) {
      node.error() << "a node's mode '" << mode[i] << "' is not supported";
      return false;
    }
    if (!number
             .try_emplace({tree[i], id[i]}, isLeaf ? nodes + leaves++ : inner++)
             .second) {
      node.error() << "has node " << id[i] << " of tree " << tree[i]
                   << " twice";
      return false;
    }
  }
  auto find = [&](int64_t inTree, int64_t called) {
    auto found = number.find({inTree, called});
    if (found != number.end())
      return found->second;
    node.error() << "tree " << inTree << " has no node " << called;
    return int64_t(0);
  };
  llvm::BitVector isChild(count);
  for (size_t i = 0; i < count && !node.failed; ++i) {
    if (mode[i] == "LEAF")
      continue;
    features.push_back(feature[i]);
    modes.push_back(llvm::find(names, mode[i]) - names);
    tracks.push_back(track[i] != 0);
    setOf.push_back(0);
    splits.push_back(split[i]);
    for (int64_t child : {yes[i], no[i]}) {
      next.push_back(find(tree[i], child));
      isChild.set(next.back());
    }
  }
  std::map<int64_t, int64_t> rootsOf;
  for (size_t i = 0; i < count && !node.failed; ++i) {
    int64_t root = find(tree[i], id[i]);
    rootsOf[tree[i]] += !isChild[root];
    if (!isChild[root])
      roots.push_back(root);
  }
  for (auto [inTree, found] : rootsOf)
    if (!node.failed && found != 1)
      node.error() << "tree " << inTree << " has " << found << " roots";
  if (node.failed)
    return false;
  if (roots.empty() || leaves == 0 || leaves > mostInTable / targetCount) {
    node.error() << "has " << roots.size() << " trees with " << leaves
                 << " leaves for " << targetCount
                 << " targets; it needs at least one, and at most "
                 << mostInTable << " weights";
    return false;
  }
  table.resize(leaves * targetCount, 0);
  given.resize(leaves * targetCount, 0);
  if (!check(target, "a leaf adds to target", targetCount))
    return false;
  for (auto [inTree, leaf, to, w] :
       llvm::zip_equal(leafTree, leafId, target, weight)) {
    int64_t at = find(inTree, leaf) - nodes;
    if (!node.failed && at < 0)
      node.error() << "node " << leaf << " of tree " << inTree
                   << " has a weight, but is no leaf";
    if (node.failed)
      return false;
    table[at * targetCount + to] += w;
    ++given[at * targetCount + to];
  }
  return finish(columns, leaves);
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
