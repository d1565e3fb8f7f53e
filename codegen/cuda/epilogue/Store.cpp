//===- Store.cpp - Results of an epilogue ---------------------------------===//

#include "codegen/cuda/epilogue/EndStages.h"
#include "codegen/cuda/target/Problem.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;
using nn::stage::Store;

namespace {
class StoreCode : public StageCode {
public:
  explicit StoreCode(const Store &store) : store(store) {}

private:
  nn::Legality check(const nn::GemmInfo &product, Type result) const override {
    if (store.what == Store::What::result)
      return std::nullopt;
    if (product.batch != 1 || product.ldd != product.n)
      return nn::Mismatch("it stores two results of several matrices");
    // TMA stores the second result by the map that the residual would use.
    if (product.epilogue.residual() || product.epilogue.addend)
      return nn::Mismatch("it has both a residual and a second result");
    if (elementType(store.value) != result || !isHalf(result))
      return nn::Mismatch("its two results are not 16-bit floats of one type");
    if (product.n % 8 != 0)
      return nn::Mismatch("rows of its second result are no multiple of 16 "
                          "bytes");
    return std::nullopt;
  }
  void addNeeds(const nn::Epilogue &, EndNeeds &needs) const override {
    ++needs.boxesStored;
  }
  std::string fields() const override {
    if (store.what == Store::What::result)
      return "";
    bool isSlope = store.what == Store::What::slope;
    return std::string("  using Second = frit::Stored") +
           (isSlope ? "Slope" : "Sum") + ";\n";
  }
  StringRef words() const override {
    switch (store.what) {
    case Store::What::result:
      return "";
    case Store::What::sum:
      return "stored-sum";
    case Store::What::slope:
      return "slope";
    }
    llvm_unreachable("no role");
  }

  const Store &store;
};
} // namespace

std::unique_ptr<StageCode> frit::cuda::codeOf(const Store &store) {
  return std::make_unique<StoreCode>(store);
}
