//===- Reader.h - Read JSON graphs ----------------------------------------===//

#ifndef FRIT_COMPILER_JSON_READER_H
#define FRIT_COMPILER_JSON_READER_H

#include "compiler/import/Import.h"
#include "compiler/import/InputShapes.h"

#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <nlohmann/json.hpp>

namespace frit::importer {

/// Formats a value for messages.
std::string printed(const nlohmann::ordered_json &value);

/// Returns a member that is a string, or "".
std::string textAt(const nlohmann::ordered_json &object, const char *key);

/// Returns the element type of this name, or null.
mlir::Type elementNamed(llvm::StringRef name, mlir::MLIRContext &context);

/// Imports a graph. Functions that return bool, an optional or null report an
/// error before they fail.
class JsonReader {
public:
  using Json = nlohmann::ordered_json;

  JsonReader(llvm::StringRef path, const ImportOptions &options,
             mlir::MLIRContext &context)
      : path(path), options(options), context(context), builder(&context) {}

  mlir::OwningOpRef<mlir::ModuleOp> run(llvm::StringRef file);

private:
  mlir::Location locate(const llvm::Twine &what) {
    return mlir::NameLoc::get(builder.getStringAttr(what),
                              mlir::FileLineColLoc::get(&context, path, 0, 0));
  }
  bool fail(mlir::Location loc, const llvm::Twine &what) {
    mlir::emitError(loc) << what;
    return false;
  }

  /// Returns a member that must be a list, or null if it is missing and not
  /// `needed`.
  const Json *list(const Json &object, const char *key, bool needed,
                   mlir::Location loc, bool &good);
  std::optional<llvm::SmallVector<std::string>>
  names(const Json &object, const char *key, mlir::Location loc);

  bool chooseFunction(Json &graph);
  bool readInputs(const Json &graph);
  std::optional<DeclaredInput> declare(const Json &input, size_t index);
  bool openWeights(const Json &graph);
  bool readNode(const Json &node, size_t index);
  bool readCustom(const Json &node, const CustomSpec &spec,
                  llvm::ArrayRef<std::string> outputs,
                  mlir::ValueRange operands, mlir::Location loc);
  bool bindOutputs(llvm::ArrayRef<std::string> outputs,
                   mlir::ValueRange results, mlir::Location loc);
  std::optional<llvm::SmallVector<mlir::NamedAttribute>>
  readAttributes(const Json &node, mlir::RegisteredOperationName name,
                 mlir::Location loc);
  llvm::SmallVector<mlir::Attribute> forms(const Json &value);
  bool readOutputs(const Json &graph);
  /// Gives inputs whose elements are indices the ranges of these, and adds
  /// checks of computed ones to the results if they are asked for.
  void checkIndices(llvm::SmallVectorImpl<mlir::DictionaryAttr> &attributes,
                    llvm::SmallVectorImpl<mlir::Value> &results);

  /// Returns the value of `name`, reading weights at first use; null if
  /// unknown.
  mlir::Value lookup(llvm::StringRef name);

  std::string path;
  const ImportOptions &options;
  mlir::MLIRContext &context;
  mlir::OpBuilder builder;
  mlir::func::FuncOp main;
  mlir::Operation *lastWeight = nullptr;
  llvm::StringMap<mlir::Value> values;
  llvm::StringMap<mlir::ElementsAttr> weights;
};

} // namespace frit::importer

#endif // FRIT_COMPILER_JSON_READER_H
