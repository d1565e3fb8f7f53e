//===- CustomOpReader.h - Read an operator of a file of --custom-op -------===//
//
// Internal to CustomOpFile.cpp, which reads the operator and its tensors, and
// CustomOpFunctions.cpp, which reads the functions that compute it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_CUSTOMOPREADER_H
#define FRIT_COMPILER_DRIVER_OPTIONS_CUSTOMOPREADER_H

#include "compiler/driver/options/JsonObject.h"
#include "compiler/import/CustomSpec.h"

namespace frit {

/// Reader of one operator, which keeps the first error.
class CustomOpReader {
public:
  using Json = JsonObject::Json;

  CustomOpReader(llvm::StringRef path, FirstError &error)
      : path(path), error(error) {
    spec.path = path.str();
  }

  CustomSpec run(const Json &json);

private:
  void readName(JsonObject &in);
  void readVariables(JsonObject &in);
  void readAttributes(JsonObject &in);
  void readTensors(JsonObject &in, const char *key,
                   std::vector<CustomSpec::Tensor> &tensors);
  void readShapes(JsonObject &in, const char *key,
                  std::vector<CustomSpec::Tensor> &tensors);
  void readArguments(JsonObject &in);
  void readArgument(const Json &json, const std::string &place);
  void readFunctions(JsonObject &in);
  void readFunction(JsonObject &in,
                    std::optional<CustomSpec::Function> &function);
  void readLaunch(JsonObject &in);
  void readGradient(JsonObject &in);

  void fail(llvm::StringRef place, const llvm::Twine &why) {
    error.reportAt(place, why);
  }
  std::string typeNamed(llvm::StringRef name, const std::string &place);
  /// Adds a name that expressions may use.
  void addName(const std::string &name, const std::string &place);
  SizeExpr expression(const Json &json, const std::string &place);
  std::vector<SizeExpr> dimensions(JsonObject &in, const char *key);

  CustomSpec spec;
  std::string path;
  FirstError &error;
  std::string domain;
  SizeExpr::Names names;
  llvm::SmallVector<std::string> taken;
};

/// Returns whether `text` is a name that C++ accepts.
bool isIdentifier(llvm::StringRef text);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_CUSTOMOPREADER_H
