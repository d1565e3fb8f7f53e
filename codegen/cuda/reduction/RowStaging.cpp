//===- RowStaging.cpp - Rows staged in shared memory ----------------------===//
//
// If rows may begin anywhere in a vector, a block copies all of its rows to
// shared memory at once (row_staged.cuh). This file finds the tensors that can
// be staged, and their offsets.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/reduction/RowKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Maximum shared memory of a block, so that several blocks fit on an SM.
static constexpr int64_t kMostShared = 48 << 10;

/// Finds the inputs that are read only at the current element (staged), or only
/// at its column (weights).
void RowKernel::findStaged() {
  auto readAt = [&](AffineExpr at) {
    llvm::SetVector<unsigned> inputs;
    llvm::DenseSet<unsigned> elsewhere;
    IndexSpace &space = graph.space;
    for (Node *node : everything())
      if (node->kind == Node::Kind::load) {
        inputs.insert(node->argument);
        AffineExpr apart = space.add(node->index, space.mul(at, -1));
        if (apart != space.constant(0))
          elsewhere.insert(node->argument);
      }
    inputs.remove_if([&](unsigned i) { return elsewhere.contains(i); });
    return inputs.takeVector();
  };
  stagedInputs = readAt(place);
  stagedWeights = readAt(col);
}

/// Lays out the tensors in shared memory. An output reuses the space of an
/// input with elements of its size, if one is free.
RowKernel::Staging RowKernel::staging() const {
  Staging staging;
  SmallVector<bool> taken;
  auto bytesOf = [](Type element) { return storageBytes(element); };
  for (unsigned input : stagedInputs) {
    staging.inputs.push_back({input, staging.bytes});
    staging.bytes += bytesOf(lowered.inputElements()[input]);
    taken.push_back(false);
  }
  for (auto [output, node] : perColumn) {
    int64_t bytes = bytesOf(elementType(lowered.outputs()[output]));
    int64_t at = staging.bytes;
    for (auto [i, input] : llvm::enumerate(staging.inputs))
      if (!taken[i] && bytesOf(lowered.inputElements()[input.first]) == bytes) {
        at = input.second;
        taken[i] = true;
        break;
      }
    if (at == staging.bytes)
      staging.bytes += bytes;
    staging.outputs.push_back({output, at});
  }
  for (unsigned input : stagedWeights) {
    staging.weights.push_back({input, staging.weightBytes});
    int64_t copies = isSkewed() ? graph.lanes.width : 1;
    int64_t bytes = covered() * bytesOf(lowered.inputElements()[input]);
    staging.weightBytes += copies * llvm::alignTo(bytes, kCacheLineBytes);
  }
  return staging;
}

int64_t RowKernel::narrowestStaged() const {
  int64_t narrowest = kVectorBytes;
  for (unsigned input : stagedInputs)
    narrowest =
        std::min(narrowest, storageBytes(lowered.inputElements()[input]));
  for (auto [output, node] : perColumn)
    narrowest = std::min(narrowest,
                         storageBytes(elementType(lowered.outputs()[output])));
  return narrowest;
}

/// Returns whether all loads along the row come from shared memory. Skewed
/// vectors contain elements of neighbouring rows too, which must not be read
/// elsewhere.
bool RowKernel::readsOnlyStaged() const {
  return llvm::all_of(everything(), [&](Node *node) {
    if (!(node->dependence & (kLane | kReduced)))
      return true;
    if (node->kind == Node::Kind::load)
      return llvm::is_contained(stagedInputs, node->argument) ||
             llvm::is_contained(stagedWeights, node->argument);
    return node->kind == Node::Kind::operation;
  });
}

bool RowKernel::canStage(int64_t team, int64_t held) const {
  return !isColumns() && team <= 32 && !stagedInputs.empty() &&
         (!isSkewed() || readsOnlyStaged()) &&
         held * cols * narrowestStaged() % kVectorBytes == 0 &&
         held * cols % graph.lanes.width == 0 &&
         stagedBytes(held) <= kMostShared;
}

int64_t RowKernel::stagedBytes(int64_t held) const {
  Staging staged = staging();
  return llvm::alignTo(held * cols * staged.bytes, staged.weights.empty()
                                                       ? kVectorBytes
                                                       : kCacheLineBytes) +
         staged.weightBytes;
}

/// Prints the function that visits tensors, each with its offset in bytes.
static std::string printVisit(StringRef name, StringRef prefix,
                              ArrayRef<std::pair<unsigned, int64_t>> tensors) {
  std::string text = ("  template <class Self, class Visit>\n  __device__ "
                      "static void " +
                      name + "(Self &self, const Visit &visit) {\n")
                         .str();
  for (auto [number, before] : tensors)
    text += ("    visit(self." + prefix + Twine(number) + ", " + Twine(before) +
             ");\n")
                .str();
  return text + "  }\n";
}

static std::string printStagedBytes(int64_t bytes) {
  return "  static constexpr int kStagedBytes = " + std::to_string(bytes) +
         ";\n";
}

int64_t RowKernel::stagedInputBytes() const {
  int64_t bytes = 0;
  for (unsigned input : stagedInputs)
    bytes += storageBytes(lowered.inputElements()[input]);
  return bytes;
}

bool RowKernel::canSumColumns() const {
  return parts && graph.lanes.width > 1 && !isSkewed() && isVectorised() &&
         !stagedInputs.empty() && cols * narrowestStaged() % kVectorBytes == 0;
}

std::string RowKernel::printStagedInputs() const {
  return printVisit("forInputs", "x", staging().inputs) +
         printStagedBytes(stagedInputBytes());
}

std::string RowKernel::printStaging() const {
  Staging staged = staging();
  return printVisit("forInputs", "x", staged.inputs) +
         printVisit("forOutputs", "y", staged.outputs) +
         printVisit("forWeights", "x", staged.weights) +
         printStagedBytes(staged.bytes) +
         (isSkewed() ? "  static constexpr int kWeights = " +
                           std::to_string(staged.weights.size()) + ";\n"
                     : "");
}
