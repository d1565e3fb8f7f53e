//===- PrintTranspose.cpp - Bodies of tiled transposes --------------------===//

#include "codegen/cuda/transpose/TransposeKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Prints a function that returns the offset of matrix `batch`, in units of
/// `elements` elements.
std::string TransposeKernel::printBase(StringRef name, int64_t Dim::*stride,
                                       int64_t elements) {
  IndexSpace space(lowered.context());
  AffineExpr number = space.addDim(batch), place = space.constant(0);
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
    // A value that is only moved needs no conversion.
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
          indented(stores, 4) + "  }\n" + printBase("from", &Dim::from, 1) +
          printBase("to", &Dim::to, 1) + "};\n")
      .str();
}

std::string TransposeKernel::unitName(int64_t bytes) {
  return "uint" + std::to_string(8 * bytes) + "_t";
}

std::string TransposeKernel::printMoved(StringRef name, int64_t unit) {
  std::string type = unitName(unit);
  int64_t elements = unit / movedBytes();
  return ("struct " + name + "_body {\n" + parameterList(lowered, true) +
          "\n  __device__ const " + type +
          " *source() const {\n    return reinterpret_cast<const " + type +
          " *>(x" + Twine(moved->argument) + ");\n  }\n  __device__ " + type +
          " *target() const {\n    return reinterpret_cast<" + type +
          " *>(y0);\n  }\n" + printBase("from", &Dim::from, elements) +
          printBase("to", &Dim::to, elements) + "};\n")
      .str();
}
