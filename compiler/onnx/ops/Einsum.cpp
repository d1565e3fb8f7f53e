//===- Einsum.cpp - Einstein summation ------------------------------------===//
//
// Operands are combined from the left, two at a time, by one batched matrix
// product: shared dimensions that stay become the batch, those that do not are
// summed.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/indexing/Positions.h"
#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

namespace {

/// A tensor with labelled dimensions. Labels are letters, or numbers for the
/// dimensions of an ellipsis, counted from the last.
struct Labelled {
  Expr x;
  SmallVector<int> labels;

  int64_t sizeOf(int label) const {
    auto at = llvm::find(labels, label);
    return at == labels.end() ? 1 : x.size(at - labels.begin());
  }
  bool has(int label) const { return llvm::is_contained(labels, label); }
};

} // namespace

/// Parses a term like "ij" or "b...k" for a tensor of `rank` dimensions. Labels
/// of an ellipsis count down to 1.
static std::optional<SmallVector<int>> parse(StringRef term, int64_t rank) {
  SmallVector<int> labels;
  size_t dots = term.find("...");
  StringRef before = term.take_front(dots), after;
  int64_t open = 0;
  if (dots != StringRef::npos) {
    after = term.drop_front(dots + 3);
    open = rank - static_cast<int64_t>(before.size() + after.size());
  }
  for (char c : before)
    labels.push_back(c);
  for (int64_t i = open; i > 0; --i)
    labels.push_back(static_cast<int>(i));
  for (char c : after)
    labels.push_back(c);
  bool good = open >= 0 && open < 'A' && llvm::all_of(before, llvm::isAlpha) &&
              llvm::all_of(after, llvm::isAlpha) &&
              (rank < 0 || static_cast<int64_t>(labels.size()) == rank);
  return good ? std::optional(labels) : std::nullopt;
}

/// Takes the diagonal of dimensions with the same label.
static Labelled takeDiagonals(Labelled t) {
  Node &node = *t.x.node;
  for (size_t i = 0; i < t.labels.size(); ++i)
    for (size_t j = t.labels.size() - 1; j > i; --j) {
      if (t.labels[i] != t.labels[j] || node.failed)
        continue;
      SmallVector<int64_t> row(t.x.rank(), 1), column(t.x.rank(), 1);
      row[i] = t.x.size(i);
      column[j] = t.x.size(j);
      Type i64 = node.builder().getI64Type();
      Expr same = iota(node, i64, row, i).equals(iota(node, i64, column, j));
      auto shape = t.x.shape();
      shape.erase(shape.begin() + j);
      t.x = same.select(t.x, t.x.number(0)).sum(j).reshape(shape);
      t.labels.erase(t.labels.begin() + j);
    }
  return t;
}

/// Sums over the dimensions that `keeps` rejects.
static Labelled sumOut(Labelled t, llvm::function_ref<bool(int)> keeps) {
  SmallVector<int64_t> axes, shape;
  SmallVector<int> labels;
  for (auto [i, label] : llvm::enumerate(t.labels)) {
    if (!keeps(label)) {
      axes.push_back(i);
      continue;
    }
    labels.push_back(label);
    shape.push_back(t.x.size(i));
  }
  return {t.x.sum(axes).reshape(shape), labels};
}

/// Permutes dimensions to the order of `labels`; missing ones get size 1.
static Expr arrange(const Labelled &t, ArrayRef<int> labels) {
  SmallVector<int64_t> perm, shape;
  for (int label : labels) {
    if (t.has(label))
      perm.push_back(llvm::find(t.labels, label) - t.labels.begin());
    shape.push_back(t.sizeOf(label));
  }
  Expr x = t.x;
  if (!llvm::is_sorted(perm))
    x = x.transpose(perm);
  return x.reshape(shape);
}

static Labelled multiply(Labelled a, Labelled b,
                         llvm::function_ref<bool(int)> keeps) {
  a = sumOut(a, [&](int label) { return b.has(label) || keeps(label); });
  b = sumOut(b, [&](int label) { return a.has(label) || keeps(label); });
  SmallVector<int> batch, left, right, inner;
  for (int label : a.labels)
    (!b.has(label) ? left : keeps(label) ? batch : inner).push_back(label);
  for (int label : b.labels)
    if (!a.has(label))
      right.push_back(label);
  auto size = [&](ArrayRef<int> labels) {
    return product(llvm::map_to_vector(labels, [&](int label) {
      return std::max(a.sizeOf(label), b.sizeOf(label));
    }));
  };
  // Sizes of 1 are broadcast if both have the dimension.
  auto form = [&](Labelled &t, ArrayRef<int> first, ArrayRef<int> second) {
    SmallVector<int> order(batch);
    order.append(first.begin(), first.end());
    order.append(second.begin(), second.end());
    SmallVector<int64_t> shape;
    for (int label : order)
      shape.push_back(std::max(a.sizeOf(label), b.sizeOf(label)));
    return arrange(t, order).expand(shape).reshape(
        {size(batch), size(first), size(second)});
  };
  Expr y = form(a, left, inner).matmul(form(b, inner, right));
  Labelled result{y, batch};
  result.labels.append(left);
  result.labels.append(right);
  SmallVector<int64_t> shape;
  for (int label : result.labels)
    shape.push_back(std::max(a.sizeOf(label), b.sizeOf(label)));
  result.x = y.reshape(shape);
  return result;
}

/// Returns the labels of the result without an arrow: the ellipsis, then all
/// letters that occur once in the terms, in alphabetical order.
static SmallVector<int> impliedLabels(ArrayRef<int> written) {
  llvm::SmallDenseMap<int, int> counts;
  for (int label : written)
    ++counts[label];
  SmallVector<int> open, letters;
  for (auto [label, count] : counts)
    if (label < 'A')
      open.push_back(label);
    else if (count == 1)
      letters.push_back(label);
  llvm::sort(open, std::greater<int>());
  llvm::sort(letters);
  open.append(letters);
  return open;
}

static Results einsum(Node &node) {
  multiplyPositions(node);
  std::string equation;
  for (char c : node.string("equation", ""))
    if (c != ' ')
      equation += c;
  auto doesNotFit = [&]() -> Results {
    if (!node.failed)
      node.error() << "equation '" << equation << "' does not fit its inputs";
    return {};
  };
  size_t arrow = equation.find("->");
  SmallVector<StringRef> terms;
  StringRef(equation).take_front(arrow).split(terms, ',');
  if (terms.size() != node.inputs().size())
    return doesNotFit();
  SmallVector<Labelled> operands;
  SmallVector<int> written;
  llvm::SmallDenseMap<int, int64_t> known;
  int open = 0;
  for (auto [i, term] : llvm::enumerate(terms)) {
    Expr x = input(node, i);
    if (!x)
      return {};
    auto labels = parse(term, x.rank());
    if (!labels)
      return doesNotFit();
    for (auto [dim, label] : llvm::enumerate(*labels)) {
      int64_t size = x.size(dim),
              &all = known.try_emplace(label, 1).first->second;
      // Sizes of 1 are broadcast, but not to a diagonal.
      int64_t first = llvm::find(*labels, label) - labels->begin();
      if (x.size(first) != size || (size != all && size != 1 && all != 1))
        return doesNotFit();
      all = std::max(all, size);
      if (label < 'A')
        open = std::max(open, label);
    }
    llvm::append_range(written, *labels);
    operands.push_back(takeDiagonals({x, *labels}));
  }
  SmallVector<int> wanted;
  if (arrow == std::string::npos) {
    wanted = impliedLabels(written);
  } else {
    StringRef term = StringRef(equation).drop_front(arrow + 2);
    int64_t rank = term.contains("...")
                       ? static_cast<int64_t>(term.size()) - 3 + open
                       : static_cast<int64_t>(term.size());
    auto labels = parse(term, rank);
    if (!labels)
      return doesNotFit();
    wanted = *labels;
  }
  for (int label : wanted)
    if (!known.contains(label) || llvm::count(wanted, label) > 1)
      return doesNotFit();

  Labelled result = operands[0];
  for (size_t i = 1; i < operands.size(); ++i)
    result = multiply(result, operands[i], [&](int label) {
      return llvm::is_contained(wanted, label) ||
             llvm::any_of(ArrayRef(operands).drop_front(i + 1),
                          [&](const Labelled &t) { return t.has(label); });
    });
  result = sumOut(result,
                  [&](int label) { return llvm::is_contained(wanted, label); });
  if (node.failed)
    return {};
  return {arrange(result, wanted)};
}

/// Computes a determinant: the product of the pivots of Gaussian elimination,
/// with partial pivoting for accuracy.
static Results det(Node &node) {
  Expr x = input(node, 0);
  constexpr int64_t mostRows = 64;
  if (!x)
    return {};
  auto shape = x.shape();
  if (x.rank() < 2 || shape[x.rank() - 1] != shape[x.rank() - 2] ||
      shape.back() < 1 || shape.back() > mostRows) {
    node.error() << "needs square matrices of at most " << mostRows
                 << " rows, but has " << nn::shapeText(shape);
    return {};
  }
  int64_t n = shape.back();
  shape.pop_back_n(2);
  int64_t batch = product(shape);
  Type i64 = node.builder().getI64Type();
  Expr m = x.reshape({batch, n, n}).to(nn::workType(x.element()));
  Expr y = filled(node, m.element(), {batch, 1, 1}, 1);
  for (;; --n) {
    // m is n×n; each step eliminates its first column.
    Expr column = m.slice(2, 0, 1);
    Expr best = column.apply<nn::AbsOp>().apply<nn::ArgMaxOp>(
        {}, node.namedSigned("axis", 1));
    Expr row = iota(node, i64, {1, n, 1}, 1);
    Expr isBest = row.equals(best);
    Expr top = isBest.select(m, m.number(0)).sum(1);
    Expr first = m.slice(1, 0, 1);
    Expr swapped = isBest.select(first, m);
    Expr pivot = top.slice(2, 0, 1);
    Expr moved = best.equals(best.number(0));
    y = y * pivot * moved.select(y.number(1), y.number(-1));
    if (n == 1)
      break;
    Expr safe = pivot.equals(pivot.number(0)).select(pivot.number(1), pivot);
    Expr below = swapped.slice(1, 1, n - 1);
    Expr factor = below.slice(2, 0, 1) / safe;
    m = below.slice(2, 1, n - 1) - factor * top.slice(2, 1, n - 1);
  }
  return {y.to(x.element()).reshape(shape)};
}

ArrayRef<Hook> frit::importer::einsumHooks() {
  static constexpr Hook hooks[] = {
      {"Einsum", 12, 1, -1, einsum},
      {"Det", 11, 1, 1, det},
  };
  return hooks;
}
