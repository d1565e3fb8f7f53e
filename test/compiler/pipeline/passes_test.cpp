//===- passes_test.cpp - Failing passes, and who is at fault --------------===//

#include "Check.h"
#include "compiler/pipeline/PipelinePasses.h"
#include "dialects/nn/NN.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace frit;

namespace {
/// What a pass does to the function that it runs on.
enum class Does {
  nothing,
  giveError,
  failSilently,
  breakIt,
  breakAndGiveError
};

struct FakePass final : PassWrapper<FakePass, OperationPass<func::FuncOp>> {
  explicit FakePass(Does does) : does(does) {}

  StringRef getArgument() const override { return "fake"; }
  StringRef getName() const override { return "FakePass"; }
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    // An addition whose operands have shapes that do not broadcast.
    if (does == Does::breakIt || does == Does::breakAndGiveError)
      function.walk([](nn::AddOp add) {
        add.getResult().setType(
            RankedTensorType::get({7}, Builder(add).getF32Type()));
      });
    if (does == Does::giveError || does == Does::breakAndGiveError)
      function.emitError("has a fault");
    if (does == Does::giveError || does == Does::failSilently ||
        does == Does::breakAndGiveError)
      signalPassFailure();
  }
  Does does;
};

struct Hooks final : PipelineHooks {
  void blame(cuda::Culprit culprit) override { blamed.push_back(culprit); }
  std::vector<cuda::Culprit> blamed;
};

/// Runs a pass over two functions, and checks the errors.
void check(Does does, bool mustSucceed, bool isBug,
           const std::vector<std::string> &errors) {
  MLIRContext context;
  context.loadDialect<func::FuncDialect, nn::NNDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
      %0 = nn.add %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    func.func @other() { return })",
                                            &context);
  CHECK(bool(module));
  std::vector<std::string> said;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      said.push_back(diagnostic.str());
  });
  Hooks hooks;
  PipelinePasses passes(context, hooks, mustSucceed);
  passes.addNestedPass<func::FuncOp>(std::make_unique<FakePass>(does));
  // A manager runs once for each variant of a model.
  for (int run = 0; run < 2; ++run) {
    said.clear();
    hooks.blamed.clear();
    OwningOpRef<ModuleOp> clone = module->clone();
    CHECK(succeeded(passes.run(*clone)) == (does == Does::nothing));
    CHECK(hooks.blamed ==
          std::vector<cuda::Culprit>(isBug, cuda::Culprit::frit));
    bool isSame = said.size() == errors.size();
    for (size_t i = 0; isSame && i < said.size(); ++i)
      isSame = StringRef(said[i]).contains(errors[i]);
    if (!isSame)
      for (const std::string &error : said)
        llvm::errs() << "got: " << error << "\n";
    CHECK(isSame);
  }
}
} // namespace

int main() {
  const std::string bug = ": this is a bug in frit, not a fault of the model; "
                          "please report it with "
                          "this text and the model, which frit-reduce makes "
                          "small; -O0, -fno-fuse or "
                          "another -march may avoid it";
  check(Does::nothing, false, false, {});
  check(Does::nothing, true, false, {});
  // A pass that says what is wrong with the model.
  check(Does::giveError, false, false, {"has a fault", "has a fault"});
  check(Does::breakAndGiveError, false, false, {"has a fault", "has a fault"});
  // One that no model makes fail.
  check(Does::giveError, true, true,
        {"has a fault", "has a fault", "the pass 'fake' failed" + bug});
  check(Does::failSilently, false, true,
        {"the pass 'fake' failed without an error" + bug});
  check(Does::failSilently, true, true,
        {"the pass 'fake' failed without an error" + bug});
  check(Does::breakIt, false, true,
        {"'nn.add' op", "the pass 'fake' has made an invalid module" + bug});
  return test::finish("passes_test");
}
