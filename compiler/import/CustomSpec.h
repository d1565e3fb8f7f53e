//===- CustomSpec.h - Custom operators of users ---------------------------===//
// The contents of a file of --custom-op. Importers look operators up by name
// (CreateCustom.h).
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_IMPORT_CUSTOMSPEC_H
#define FRIT_COMPILER_IMPORT_CUSTOMSPEC_H

#include "compiler/import/SizeExpr.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <variant>

namespace frit {

/// A custom operator. Types are named as modules spell them: "ui8".
struct CustomSpec {
  struct Variable {
    std::string name;
    std::vector<std::string> types;
  };
  struct Attribute {
    std::string name;
    bool isReal = false; ///< otherwise an integer
    std::optional<double> real;
    std::optional<int64_t> integer;
  };
  struct Tensor {
    std::string name;
    std::string type; ///< or the name of a variable
    /// The size of each dimension; none if an input's dimension may have any
    /// size.
    std::optional<std::vector<std::optional<SizeExpr>>> shape;
    std::optional<size_t> like; ///< or the input that has the same shape
  };
  /// A number that the function takes after the tensors.
  struct Argument {
    std::string type; ///< i32, i64, f32 or f64
    SizeExpr value;
    std::optional<size_t> real; ///< or the value of this attribute
  };
  struct Function {
    std::string name, path, text;
  };

  std::string name; ///< "com.example::Swish"
  std::string path; ///< of the file that defines it, for messages
  /// Whether it is a function of one element. Otherwise it is a kernel.
  bool elementwise = false;
  /// Whether a kernel computes each sample, an index of every tensor's first
  /// dimension, independently.
  bool batched = false;
  std::vector<Variable> variables;
  std::vector<Attribute> attributes;
  std::vector<Tensor> inputs, outputs;
  std::vector<Argument> arguments;
  std::vector<SizeExpr> grid, block; ///< three each, if there is a kernel
  SizeExpr sharedBytes = SizeExpr::number(0);
  std::optional<SizeExpr> workspaceBytes;
  std::optional<Function> device, host;
  /// Names of the operators that compute the gradient: one, or one for each
  /// input, "" where there is none.
  std::vector<std::string> gradients;
};

namespace importer {

/// A node's attributes by name.
using CustomAttributes = llvm::StringMap<std::variant<int64_t, double>>;

} // namespace importer
} // namespace frit

#endif // FRIT_COMPILER_IMPORT_CUSTOMSPEC_H
