//===- Messages.cpp - What fritc says while it compiles -------------------===//

#include "compiler/driver/Messages.h"

#include "compiler/planning/Passes.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace frit;

Messages::Messages(const DriverOptions &options, MLIRContext &context)
    : diagnostics(context), options(options) {
  // Users know their model, not the IR.
  context.printOpOnDiagnostic(false);
  diagnostics.options = options.warnings;
}

LogicalResult Messages::fail(llvm::Error error) {
  if (!status)
    status = statusOf(error);
  diagnostics.error(llvm::toString(std::move(error)));
  return failure();
}

LogicalResult Messages::check(llvm::Error error) {
  return error ? fail(std::move(error)) : success();
}

LogicalResult Messages::checkReported(llvm::Error error) {
  if (error && diagnostics.errors()) {
    llvm::consumeError(std::move(error));
    return failure();
  }
  return check(std::move(error));
}

int Messages::statusOfRun(bool isDone) {
  if (!isDone && !diagnostics.errors()) {
    diagnostics.error("the compilation failed without saying why: this is a "
                      "bug in frit; please report it with the model");
    return kBug;
  }
  if (isDone && !diagnostics.errors())
    return kDone;
  return status ? status : kBadInput;
}

void Messages::blame(cuda::Culprit culprit) {
  if (!status)
    status = culprit == cuda::Culprit::frit    ? kBug
             : culprit == cuda::Culprit::nvrtc ? kMachine
                                               : kBadInput;
}

void Messages::say(const Twine &message) {
  if (options.verbose)
    tell(message);
}

void Messages::tell(const Twine &message) {
  llvm::errs() << "fritc: " << message << "\n";
}

void Messages::sayGpu() {
  if (options.gpu && llvm::is_contained(options.archs, options.gpu->name))
    say(llvm::formatv("schedule {0} for {1}: {2} SMs, {3} MiB of L2, {4:F0} "
                      "GB/s",
                      options.gpu->name, options.gpu->device, options.gpu->sms,
                      options.gpu->l2Bytes >> 20, options.gpu->memoryRate / 1e3)
            .str());
}

void Messages::sayForked(ModuleOp plans) {
  plans.walk([&](plan::CommandListOp list) {
    if (size_t forked = planning::countForked(list))
      say(Twine(forked) + " of " + Twine(plan::stepsOf(list).size()) +
          " steps run beside others");
  });
}
