//===- Steps.h - String steps of a model ----------------------------------===//
//
// String operators run on the host when a call starts, on every target.
// A step reads strings of the model's inputs, constants, and results of
// earlier steps. Its results are further inputs of the model:
//
//   func.func @main(%x: tensor<3xi64> {nn.strings},
//                   %y: tensor<3xi64> {nn.computed}) attributes {
//     nn.string_steps = [{op = "concat", result = 1,
//                         operands = [{input = 0}, {ids = [4], dims = [1]}]}]}
//
// compiler/padding/Strings.h reads them.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_STRINGS_STEPS_H
#define FRIT_COMPILER_ONNX_STRINGS_STEPS_H

#include "compiler/onnx/reader/Node.h"

namespace frit::importer {

/// A string step that a node becomes.
class StringStep {
public:
  StringStep(Node &node, llvm::StringRef op);

  /// Adds an operand, a tensor of strings; an error unless a step can read it.
  void read(mlir::Value strings);
  void set(llvm::StringRef name, mlir::Attribute value) {
    attributes.set(name, value);
  }
  void set(llvm::StringRef name, int64_t value);
  /// Sets a list of strings.
  void set(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> texts);

  /// Adds a result, an argument of @main: in order, all in a row. `like` is the
  /// operand whose dimensions its own follow; null if there is none.
  mlir::Value result(mlir::Type element, llvm::ArrayRef<int64_t> shape,
                     mlir::Value like, llvm::StringRef suffix = "");
  /// Adds the step to the model. Must come last.
  void add();

  /// Returns the names of the open dimensions of strings that are an input of
  /// the model; null if there are none.
  static mlir::ArrayAttr symbolsOf(Node &node, mlir::Value strings);

private:
  Node &node;
  mlir::NamedAttrList attributes;
  llvm::SmallVector<mlir::Attribute> operands;
};

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_STRINGS_STEPS_H
