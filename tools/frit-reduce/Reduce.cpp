//===- Reduce.cpp - Shrink a model while it stays interesting -------------===//
//
// Each pass either minimizes a list of removable elements by delta debugging,
// or shrinks elements one by one. The passes repeat until none makes progress,
// as in llvm-reduce.
//
//===----------------------------------------------------------------------===//

#include "tools/frit-reduce/Reduce.h"

#include "tools/frit-reduce/Delta.h"
#include "tools/frit-reduce/Shrink.h"

#include "llvm/ADT/STLExtras.h"

using namespace frit::reduce;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {

class Reducer {
public:
  Reducer(onnx::ModelProto &model, const Knowledge &known, Test &test,
          llvm::function_ref<void(StringRef)> onSmaller)
      : model(model), known(known), test(test), onSmaller(onSmaller) {}

  llvm::Error run();

private:
  using Part = std::optional<onnx::ModelProto>;

  /// Runs delta debugging over `count` elements; `keep` makes a model with a
  /// subset of them.
  void pass(StringRef name, unsigned count,
            llvm::function_ref<Part(ArrayRef<unsigned> kept)> keep);

  /// Returns whether the model still fails; also false if the test could not
  /// run.
  bool isInteresting(const onnx::ModelProto &part);
  /// Replaces the model by `part` if that still fails.
  bool accept(StringRef name, onnx::ModelProto part);

  void nodes();
  void outputs();
  void detours();
  void weights();
  void attributes();
  void branches();
  void bodies();
  void sizes();
  void numbers();

  onnx::ModelProto &model;
  Knowledge known;
  Test &test;
  llvm::function_ref<void(StringRef)> onSmaller;
  bool changed = false;
  std::optional<llvm::Error> failure;
};

} // namespace

bool Reducer::isInteresting(const onnx::ModelProto &part) {
  auto interesting = test.isInteresting(part);
  if (interesting)
    return *interesting;
  failure = interesting.takeError();
  return false;
}

bool Reducer::accept(StringRef name, onnx::ModelProto part) {
  if (failure || part.SerializeAsString() == model.SerializeAsString() ||
      !isInteresting(part))
    return false;
  model = std::move(part);
  changed = true;
  onSmaller(name);
  return true;
}

void Reducer::pass(StringRef name, unsigned count,
                   llvm::function_ref<Part(ArrayRef<unsigned>)> keep) {
  if (!count || failure)
    return;
  onnx::ModelProto best = model;
  minimize(count, [&](ArrayRef<unsigned> kept) {
    if (failure)
      return false;
    Part part = keep(kept);
    if (!part || !isInteresting(*part))
      return false;
    best = std::move(*part);
    return true;
  });
  if (best.SerializeAsString() == model.SerializeAsString())
    return;
  model = std::move(best);
  changed = true;
  onSmaller(name);
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

void Reducer::nodes() {
  onnx::ModelProto whole = model;
  pass("nodes", whole.graph().node_size(),
       [&](ArrayRef<unsigned> kept) { return keepNodes(whole, kept, known); });
}

void Reducer::outputs() {
  onnx::ModelProto whole = model;
  pass("outputs", whole.graph().output_size(),
       [&](ArrayRef<unsigned> kept) { return keepOutputs(whole, kept); });
}

/// Makes readers of a node's first output read its first input instead, if both
/// have the same type. This removes nodes between values that must stay, which
/// cutting cannot.
void Reducer::detours() {
  onnx::ModelProto whole = model;
  llvm::StringMap<const onnx::TypeProto *> types;
  for (const auto &entry : known.types)
    types[entry.first()] = &entry.second;
  for (const onnx::ValueInfoProto &input : whole.graph().input())
    types[input.name()] = &input.type();
  llvm::SmallVector<unsigned> candidates;
  for (auto [i, node] : llvm::enumerate(whole.graph().node())) {
    if (!node.input_size() || !node.output_size())
      continue;
    const onnx::TypeProto *from = types.lookup(node.input(0));
    const onnx::TypeProto *to = types.lookup(node.output(0));
    if (from && to && from->SerializeAsString() == to->SerializeAsString())
      candidates.push_back(i);
  }
  pass("detours", candidates.size(), [&](ArrayRef<unsigned> kept) -> Part {
    onnx::ModelProto part = whole;
    onnx::GraphProto &graph = *part.mutable_graph();
    llvm::StringMap<std::string> instead;
    for (auto [i, at] : llvm::enumerate(candidates))
      if (!llvm::is_contained(kept, i)) {
        const onnx::NodeProto &node = whole.graph().node(at);
        instead[node.output(0)] = node.input(0);
      }
    for (onnx::NodeProto &node : *graph.mutable_node())
      for (std::string &name : *node.mutable_input())
        for (auto it = instead.find(name); it != instead.end();
             it = instead.find(name))
          name = it->second;
    prune(part);
    return part;
  });
}

/// Turns weights into inputs, which take no space and whose values do not
/// matter.
void Reducer::weights() {
  onnx::ModelProto whole = model;
  pass("weights", whole.graph().initializer_size(),
       [&](ArrayRef<unsigned> kept) -> Part {
         onnx::ModelProto part = whole;
         onnx::GraphProto &graph = *part.mutable_graph();
         graph.clear_initializer();
         llvm::StringMap<bool> isInput;
         for (const onnx::ValueInfoProto &input : graph.input())
           isInput[input.name()] = true;
         for (auto [i, weight] : llvm::enumerate(whole.graph().initializer())) {
           if (llvm::is_contained(kept, i)) {
             *graph.add_initializer() = weight;
             continue;
           }
           // Up to IR version 3, a weight is also declared as an input.
           if (isInput.lookup(weight.name()))
             continue;
           onnx::ValueInfoProto &input = *graph.add_input();
           input.set_name(weight.name());
           auto &type = *input.mutable_type()->mutable_tensor_type();
           type.set_elem_type(weight.data_type());
           type.mutable_shape();
           for (int64_t size : weight.dims())
             type.mutable_shape()->add_dim()->set_dim_value(size);
         }
         return part;
       });
}

void Reducer::attributes() {
  onnx::ModelProto whole = model;
  std::vector<std::pair<int, int>> places;
  for (auto [i, node] : llvm::enumerate(whole.graph().node()))
    for (int k = 0; k < node.attribute_size(); ++k)
      places.emplace_back(i, k);
  pass("attributes", places.size(), [&](ArrayRef<unsigned> kept) -> Part {
    onnx::ModelProto part = whole;
    onnx::GraphProto &graph = *part.mutable_graph();
    for (onnx::NodeProto &node : *graph.mutable_node())
      node.clear_attribute();
    for (unsigned i : kept) {
      auto [node, attribute] = places[i];
      *graph.mutable_node(node)->add_attribute() =
          whole.graph().node(node).attribute(attribute);
    }
    prune(part);
    return part;
  });
}

/// Replaces an If by one of its branches.
void Reducer::branches() {
  for (unsigned index = 0;;) {
    onnx::ModelProto part = model;
    if (!takeBranch(part, index))
      return;
    if (!accept("branches", std::move(part)))
      ++index;
  }
}

/// Does the same as detours in subgraphs, whose number of results must not
/// change.
void Reducer::bodies() {
  for (unsigned index = 0;;) {
    onnx::ModelProto part = model;
    if (!leaveOutOfBody(part, index))
      return;
    if (!accept("bodies", std::move(part)))
      ++index;
  }
}

/// Shrinks all dimensions of one size together, because equal sizes usually
/// must stay equal.
void Reducer::sizes() {
  auto shrink = [&](int64_t from) {
    for (int64_t to : {int64_t(1), int64_t(2), int64_t(3), int64_t(4), from / 8,
                       from / 4, from / 2, from - 1})
      for (auto [ofMultiples, inAttributes] : {std::pair(true, true),
                                               {false, true},
                                               {true, false},
                                               {false, false}}) {
        if (to < 1 || to >= from)
          continue;
        onnx::ModelProto part = model;
        Knowledge then = known;
        if (resize(part, then, {from, to, ofMultiples, inAttributes}) &&
            accept("sizes", std::move(part))) {
          known = std::move(then);
          return;
        }
      }
  };
  for (int64_t from : sizesOf(model))
    shrink(from);
}

void Reducer::numbers() {
  for (unsigned index = 0; index < countNumbers(model); ++index)
    for (unsigned way = 0; way < numWays; ++way) {
      onnx::ModelProto part = model;
      if (simplifyNumber(part, index, way) &&
          accept("numbers", std::move(part)))
        break;
    }
}

llvm::Error Reducer::run() {
  onnx::ModelProto whole = model;
  // One element to remove: all data that do not affect results.
  pass("notes", 1, [&](ArrayRef<unsigned> kept) -> Part {
    onnx::ModelProto part = whole;
    if (kept.empty()) {
      removeNotes(part);
      prune(part);
    }
    return part;
  });
  do {
    changed = false;
    nodes();
    outputs();
    detours();
    weights();
    attributes();
    branches();
    bodies();
    sizes();
    numbers();
  } while (changed && !failure);
  return failure ? std::move(*failure) : llvm::Error::success();
}

llvm::Error
frit::reduce::reduce(onnx::ModelProto &model, const Knowledge &known,
                     Test &test,
                     llvm::function_ref<void(StringRef)> onSmaller) {
  return Reducer(model, known, test, onSmaller).run();
}
