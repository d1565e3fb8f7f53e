//===- JsonFields.h - Members of a JSON object, checked -------------------===//

#ifndef FRIT_COMPILER_DECODER_JSONFIELDS_H
#define FRIT_COMPILER_DECODER_JSONFIELDS_H

#include "mlir/IR/Diagnostics.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace frit::decoder {

/// Largest size that a configuration may give.
inline constexpr int64_t kLargestSize = int64_t(1) << 30;

/// Reads the members of an object. A member that is null counts as missing.
/// Wrong ones are reported at `loc`, after which `isGood` is false. The object
/// must outlive this.
class JsonFields {
public:
  using Json = nlohmann::ordered_json;

  JsonFields(const Json &object, mlir::Location loc)
      : object(object), loc(loc) {}

  /// Returns whether the member is there, maybe as null.
  bool has(llvm::StringRef key) const {
    return object.is_object() && object.contains(key.str());
  }
  /// Returns the member, or null.
  const Json *find(llvm::StringRef key) const;
  /// Returns the first of `keys` that is a member; the last one otherwise.
  llvm::StringRef choose(llvm::ArrayRef<llvm::StringRef> keys) const;

  /// Returns a size from 1 to kLargestSize, `otherwise` if it is missing. It is
  /// an error if it is missing and there is no `otherwise`.
  int64_t size(llvm::StringRef key,
               std::optional<int64_t> otherwise = std::nullopt);
  /// Returns a finite number.
  double number(llvm::StringRef key,
                std::optional<double> otherwise = std::nullopt);
  /// Returns a finite number above `bound`.
  double above(llvm::StringRef key, double bound,
               std::optional<double> otherwise = std::nullopt);
  bool flag(llvm::StringRef key, bool otherwise);
  std::string text(llvm::StringRef key,
                   std::optional<llvm::StringRef> otherwise = std::nullopt);
  /// Returns a list of `count` finite numbers above 0.
  std::vector<double> numbers(llvm::StringRef key, size_t count);

  /// Reports an error and clears `isGood`.
  void fail(const llvm::Twine &what);

  bool isGood = true;

private:
  void failMember(llvm::StringRef key, llvm::StringRef expected);

  const Json &object;
  mlir::Location loc;
};

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_JSONFIELDS_H
