//===- Trees.cpp - Ensembles of decision trees ----------------------------===//
//
// All trees are walked at once, for all rows: after k steps a tensor of
// [rows, trees] says which node each row has reached in each tree. Leaves lead
// to themselves, so as many steps as the deepest tree has reach all leaves.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/tables/Trees.h"
#include "compiler/onnx/reader/Hooks.h"

#include "dialects/nn/Fold.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

SmallVector<double> Trees::reals(StringRef name) {
  Value value = node.tensorValue(name);
  if (!value || isStrings(value))
    return {};
  // Ensembles may have more nodes than constants that are folded.
  DenseElementsAttr known =
      nn::constantValue(value, std::numeric_limits<int64_t>::max());
  if (!known)
    return {};
  auto type = dyn_cast<FloatType>(known.getElementType());
  if (!type)
    return llvm::map_to_vector(known.getValues<APInt>(), [&](const APInt &n) {
      return known.getElementType().isUnsignedInteger()
                 ? double(n.getZExtValue())
                 : double(n.getSExtValue());
    });
  return llvm::map_to_vector(known.getValues<APFloat>(), [](APFloat number) {
    bool isExact;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                   &isExact);
    return number.convertToDouble();
  });
}

bool Trees::check(ArrayRef<int64_t> ids, StringRef what, int64_t limit) {
  for (int64_t id : ids)
    if (id < 0 || id >= limit) {
      node.error() << what << " " << id << " of " << limit;
      return false;
    }
  return true;
}

/// Reads the sets of the nodes that test membership, in the order of the nodes.
/// A NaN ends each set.
bool Trees::readMembers(ArrayRef<double> values) {
  sets.emplace_back();
  for (double value : values) {
    if (std::isnan(value)) {
      sets.emplace_back();
      continue;
    }
    sets.back().push_back(value);
    longestSet = std::max<int64_t>(longestSet, sets.back().size());
  }
  sets.pop_back();
  int64_t used = 0;
  for (int64_t mode : modes)
    setOf.push_back(mode == member ? used++ : 0);
  if (used == static_cast<int64_t>(sets.size()))
    return true;
  node.error() << "membership_values has " << sets.size() << " sets for "
               << used << " nodes";
  return false;
}

/// Finds how many steps lead from a root to a leaf at most.
bool Trees::findDepth() {
  // Heights of nodes above their leaves: 0 if not known yet, -1 while the
  // children are visited.
  SmallVector<int64_t> height(nodes, 0);
  auto heightOf = [&](int64_t n) { return n < nodes ? height[n] : 0; };
  for (int64_t root : roots) {
    SmallVector<int64_t> stack;
    if (root < nodes)
      stack.push_back(root);
    while (!stack.empty()) {
      int64_t n = stack.back();
      if (height[n] > 0) {
        stack.pop_back();
        continue;
      }
      bool isFirst = height[n] == 0;
      height[n] = -1;
      int64_t most = 0;
      bool isOpen = false;
      for (int64_t child : {next[2 * n], next[2 * n + 1]}) {
        most = std::max(most, heightOf(child));
        if (child >= nodes || height[child] > 0)
          continue;
        if (!isFirst || height[child] < 0) {
          node.error() << "node " << child << " of its trees leads to itself";
          return false;
        }
        stack.push_back(child);
        isOpen = true;
      }
      if (isOpen)
        continue;
      height[n] = most + 1;
      stack.pop_back();
    }
    depth = std::max(depth, heightOf(root));
  }
  return true;
}

bool Trees::read(int64_t columns, int64_t targetCount) {
  roots = integers("tree_roots");
  targets = integers("leaf_targetids");
  weights = reals("leaf_weights");
  features = integers("nodes_featureids");
  splits = reals("nodes_splits");
  tracks = integers("nodes_missing_value_tracks_true");
  auto trueNodes = integers("nodes_truenodeids"),
       falseNodes = integers("nodes_falsenodeids"),
       trueLeaves = integers("nodes_trueleafs"),
       falseLeaves = integers("nodes_falseleafs");
  for (double mode : reals("nodes_modes"))
    modes.push_back(static_cast<int64_t>(mode));
  auto members = reals("membership_values");
  node.ignore("nodes_hitrates");
  nodes = features.size();
  auto leaves = static_cast<int64_t>(weights.size());
  auto count = static_cast<size_t>(nodes);
  if (tracks.empty())
    tracks.resize(count, 0);
  if (node.failed)
    return false;
  for (size_t size :
       {splits.size(), modes.size(), tracks.size(), trueNodes.size(),
        falseNodes.size(), trueLeaves.size(), falseLeaves.size()})
    if (size != count) {
      node.error() << "its attributes describe " << count << " nodes and "
                   << size;
      return false;
    }
  if (targets.size() != weights.size() || roots.empty() || leaves == 0) {
    node.error() << "needs trees, and a target and a weight for each leaf; it "
                 << "has " << roots.size() << ", " << targets.size() << " and "
                 << leaves;
    return false;
  }
  for (int64_t i = 0; i < nodes; ++i)
    for (auto [isLeaf, id] : {std::pair(trueLeaves[i], trueNodes[i]),
                              std::pair(falseLeaves[i], falseNodes[i])}) {
      if (!check(id,
                 isLeaf ? "a branch leads to leaf" : "a branch leads to node",
                 isLeaf ? leaves : nodes))
        return false;
      next.push_back(isLeaf ? nodes + id : id);
    }
  return check(roots, "a tree begins at node", nodes) &&
         check(modes, "a node has mode", member + 1) &&
         check(targets, "a leaf adds to target", targetCount) &&
         readMembers(members) && finish(columns, leaves);
}

/// Checks the nodes and adds the leaves to them.
bool Trees::finish(int64_t columns, int64_t leaves) {
  if (!check(features, "a node reads feature", columns) || !findDepth())
    return false;
  for (int64_t leaf = nodes; leaf < nodes + leaves; ++leaf)
    next.append(2, leaf);
  for (SmallVector<int64_t> *each : {&features, &modes, &tracks, &setOf})
    each->resize(nodes + leaves, each->empty() ? 0 : each->front());
  splits.resize(nodes + leaves, 0);
  return true;
}

/// Returns which way each row goes from the nodes `at`.
Expr Trees::goesToTrue(Expr x, Expr at) const {
  Expr value = x.gatherElements(pick(at, features), 1);
  Expr split = pick(at, x.element(), splits);
  auto compare = [&](int64_t mode) {
    switch (mode) {
    case lessEqual:
      return value <= split;
    case less:
      return value < split;
    case greaterEqual:
      return value >= split;
    case greater:
      return value > split;
    case equal:
      return value.equals(split);
    case notEqual:
      return value.equals(split).logicalNot();
    default:
      break;
    }
    SmallVector<double> padded;
    for (const auto &set : sets) {
      padded.append(set.begin(), set.end());
      padded.resize(padded.size() + longestSet - set.size(),
                    std::numeric_limits<double>::quiet_NaN());
    }
    auto form = at.shape();
    form.push_back(1);
    Expr all =
        importer::table(node, x.element(),
                        {static_cast<int64_t>(sets.size()), longestSet}, padded)
            .gather(pick(at, setOf), 0);
    Type f32 = node.builder().getF32Type();
    return value.reshape(form).equals(all).to(f32).sum(2).reshape(at.shape()) >
           0.0;
  };
  auto first = modes.front();
  Expr result = compare(first);
  for (int64_t mode = 0; mode <= member; ++mode)
    if (mode != first && llvm::is_contained(modes, mode)) {
      Expr is = pick(at, modes);
      result = is.equals(is.number(static_cast<double>(mode)))
                   .select(compare(mode), result);
    }
  if (llvm::any_of(tracks, [](int64_t t) { return t != 0; }))
    result = result | (value.apply<nn::IsNaNOp>() &
                       pick(at, tracks).equals(at.number(0)).logicalNot());
  return result;
}

Expr Trees::leavesOf(Expr x) const {
  auto trees = static_cast<int64_t>(roots.size());
  Type i64 = node.builder().getI64Type();
  Expr at = importer::table(node, {1, trees}, roots).expand({x.size(0), trees});
  for (int64_t step = 0; step < depth && !node.failed; ++step)
    at = pick(at * 2.0 + goesToTrue(x, at).logicalNot().to(i64), next);
  return at - static_cast<double>(nodes);
}

static Results treeEnsemble(Node &node) {
  Expr x = input(node, 0);
  enum { average, sum, min, max };
  int64_t targets = node.integer("n_targets", 1),
          aggregate = node.integer("aggregate_function", sum),
          after = node.integer("post_transform", 0);
  Trees trees(node);
  if (!x)
    return {};
  if (x.rank() != 2 || !x.isFloat() || targets < 1 || targets > mostInTable) {
    node.error() << "needs rows of floats and 1 to " << mostInTable
                 << " targets";
    return {};
  }
  if (aggregate < average || aggregate > max)
    node.error() << "aggregate_function " << aggregate << " is not supported";
  if (after < 0 || after > 2)
    node.error() << "post_transform " << after << " is not supported";
  if (node.failed || !trees.read(x.size(1), targets))
    return {};
  Expr leaf = trees.leavesOf(x);
  auto leaves = static_cast<int64_t>(trees.weights.size());
  auto form = leaf.shape();
  form.push_back(1);
  Expr weight = table(node, x.element(), {leaves}, trees.weights)
                    .gather(leaf, 0)
                    .reshape(form);
  Expr target =
      table(node, {leaves}, trees.targets).gather(leaf, 0).reshape(form);
  Expr all = iota(node, node.builder().getI64Type(), {1, 1, targets}, 2);
  double most =
      APFloat::getLargest(cast<FloatType>(x.element()).getFloatSemantics())
          .convertToDouble();
  double none = aggregate == min ? most : aggregate == max ? -most : 0;
  auto kind = aggregate == min   ? nn::Combiner::min
              : aggregate == max ? nn::Combiner::max
                                 : nn::Combiner::sum;
  Expr y = target.equals(all)
               .select(weight, weight.number(none))
               .reduce(kind, {1})
               .reshape({x.size(0), targets});
  if (aggregate == average)
    y = y / static_cast<double>(trees.roots.size());
  if (after == 1)
    y = y.apply<nn::SoftmaxOp>({}, {node.namedSigned("axis", -1)});
  if (after == 2)
    y = y.apply<nn::SigmoidOp>();
  return {y};
}

ArrayRef<Hook> frit::importer::treeHooks() {
  static constexpr Hook hooks[] = {
      {"ai.onnx.ml::TreeEnsemble", 5, 1, 1, treeEnsemble},
      {"ai.onnx.ml::TreeEnsembleClassifier", 1, 1, 1, treeEnsembleClassifier},
      {"ai.onnx.ml::TreeEnsembleRegressor", 1, 1, 1, treeEnsembleRegressor},
  };
  return hooks;
}
