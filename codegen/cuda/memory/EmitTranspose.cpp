//===- EmitTranspose.cpp - Tiled transposes -------------------------------===//

#include "codegen/cuda/memory/TransposeKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Where a matrix begins, from its number.
std::string TransposeKernel::printBase(StringRef name, int64_t Dim::*stride) {
  IndexSpace space(lowered.context());
  AffineExpr number = space.addDim(batch), place = space.constant(0);
  int64_t elements = isRuns() ? unitElements() : 1;
  SmallVector<int64_t> sizes;
  for (const Dim &dim : others)
    sizes.push_back(dim.size);
  for (auto [dim, index] : llvm::zip(others, space.delinearize(number, sizes)))
    place = space.add(place, space.mul(index, dim.*stride / elements));
  std::string text =
      space
          .print(place,
                 [&](AffineExpr, bool wide, bool) -> IndexText {
                   return {wide ? "int64_t(batch)" : "batch", kPrimary};
                 })
          .text;
  return ("  __device__ static size_t " + name +
          "(unsigned batch) {\n    return " + text + ";\n  }\n")
      .str();
}

std::string TransposeKernel::print(StringRef name) {
  bool isCopy = moved->kind == Node::Kind::load;
  StringRef held = isCopy
                       ? storageName(lowered.inputElements()[moved->argument])
                       : valueName(moved->type);
  std::string lane = load.vector > 1 ? "e[v]" : "e[0]";
  Printer in(load.graph);
  in.setArguments(lowered.inputElements());
  in.nameDim(load.index, "i");
  in.expect(moved);
  if (isCopy) {
    in.line("frit::copyVector(e, x" + Twine(moved->argument) + " + " +
            in.place(moved) + ");");
  } else {
    in.openLanes();
    std::string text = in.value(moved);
    in.line(lane + " = " + text + ";");
    in.closeLanes();
  }

  Printer out(store.graph);
  out.setArguments(lowered.inputElements());
  out.nameDim(store.index, "i");
  lane = store.vector > 1 ? "e[v]" : "e[0]";
  out.define(value, isCopy ? "frit::load(" + lane + ")" : lane);
  out.expect(stored);
  out.openLanes();
  std::string stores;
  for (auto [output, node] : llvm::enumerate(stored)) {
    Type element = elementType(lowered.outputs()[output]);
    std::string y = ("y" + Twine(output)).str();
    // What is only moved is not converted there and back.
    if (node == value && storageName(element) == held)
      stores += "frit::copyVector(" + y + " + i, e);\n";
    else if (std::string store = storeOutput(out, this->store.graph, output,
                                             element, node, "i");
             !store.empty())
      stores += store + "\n";
  }
  out.closeLanes();
  return ("struct " + name + "_body {\n" + parameterList(lowered, true) +
          "  using Held = " + held + ";\n\n  __device__ void load(Held (&e)[" +
          Twine(load.vector) + "], size_t i) const {\n" + in.str(4) +
          "  }\n  __device__ void store(const Held (&e)[" +
          Twine(store.vector) + "], size_t i) const {\n" + out.str(4) +
          indented(stores, 4) + "  }\n" + printBase("from", &Dim::from) +
          printBase("to", &Dim::to) + "};\n")
      .str();
}

std::string TransposeKernel::unitName() const {
  return "uint" + std::to_string(8 * unit()) + "_t";
}

std::string TransposeKernel::printMoved(StringRef name) {
  std::string type = unitName();
  return ("struct " + name + "_body {\n" + parameterList(lowered, true) +
          "\n  __device__ const " + type +
          " *source() const {\n    return reinterpret_cast<const " + type +
          " *>(x" + Twine(moved->argument) + ");\n  }\n  __device__ " + type +
          " *target() const {\n    return reinterpret_cast<" + type +
          " *>(y0);\n  }\n" + printBase("from", &Dim::from) +
          printBase("to", &Dim::to) + "};\n")
      .str();
}

std::string TransposeKernel::call(StringRef name) const {
  std::string body = name.str() + "_body";
  std::string values = ">({" + argumentList(lowered) + "}, ";
  std::string count = (Twine(batch * rows * cols) + ");\n").str();
  if (isRuns()) {
    int64_t elements = unitElements();
    return ("frit::transposeRuns<" + body + ", " + unitName() + ", " +
            Twine(run / elements) + ", " + Twine(tileRows) + ", " +
            Twine(tileCols) + (hasAlignedLines() ? ", true" : "") + values +
            Twine(rows) + ", " + Twine(cols) + ", " +
            Twine(row.from / elements) + ", " + Twine(col.to / elements) +
            ", " + Twine(batch * rows * cols * run / elements) + ");\n")
        .str();
  }
  if (isSkewed() && hasAllRows())
    return ("frit::transposeSkewedFlat<" + body + ", " + Twine(kFlatLine) +
            ", " + Twine(rows) + ", " + Twine(threads()) + values +
            Twine(cols) + ", " + Twine(row.from) + ", " + count)
        .str();
  std::string sizes = (Twine(rows) + ", " + Twine(cols) + ", " +
                       Twine(row.from) + ", " + Twine(col.to))
                          .str();
  if (isSkewed())
    return ("frit::transposeSkewed<" + body + ", " + Twine(kSkewLine) + ", " +
            Twine(skewRows()) + values + sizes + ", " + count)
        .str();
  bool flatLoad = isFlat(true, load.vector);
  bool flatStore = isFlat(false, store.vector);
  if (isShort()) {
    auto [length, width] = flatLoad ? std::pair(tileRows, tileCols)
                                    : std::pair(tileCols, tileRows);
    return ("frit::transposeFlat<" + body + ", " + Twine(length) + ", " +
            Twine(width) + ", " + Twine(load.vector) + ", " +
            Twine(store.vector) + (flatLoad ? ", true" : ", false") + values +
            Twine(flatLoad ? rows : cols) + ", " +
            Twine(flatLoad ? col.to : row.from) + ");\n")
        .str();
  }
  std::string flat;
  if (flatLoad || flatStore)
    flat = std::string(flatLoad ? ", true" : ", false") +
           (flatStore ? ", true" : "");
  return ("frit::transpose<" + body + ", " + Twine(tileRows) + ", " +
          Twine(tileCols) + ", " + Twine(load.vector) + ", " +
          Twine(store.vector) + ", " + Twine(wordSize()) + flat + values +
          Twine(batch) + ", " + sizes + ");\n")
      .str();
}

FailureOr<KernelText> frit::cuda::emitTranspose(nn::FusionOp fusion,
                                                const LinalgFusion &lowered,
                                                StringRef name,
                                                std::string &failure) {
  auto kernel = makeTranspose(fusion, lowered, failure);
  if (!kernel)
    return llvm::failure();
  KernelText text;
  bool skewed = kernel->isSkewed(), runs = kernel->isRuns();
  int64_t threads = kernel->threads();
  text.header = runs                ? "transpose_runs"
                : skewed            ? "transpose_skewed"
                : kernel->isShort() ? "transpose_flat"
                                    : "transpose";
  text.source =
      (runs || skewed ? kernel->printMoved(name) : kernel->print(name)) +
      kernelFunction(name, lowered, threads, kernel->call(name), 0,
                     Waits::inFunction, 1, kernel->resident());
  text.grid[0] = std::min<int64_t>(INT32_MAX, kernel->tileCount());
  text.block[0] = threads;
  text.sharedBytes = kernel->sharedBytes();
  return text;
}
