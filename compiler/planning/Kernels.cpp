//===- Kernels.cpp - Kernels of a target ----------------------------------===//

#include "compiler/planning/Kernels.h"

#include "compiler/planning/Contractions.h"
#include "dialects/nn/KernelText.h"
#include "dialects/nn/operators/Custom.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace frit;

/// Names a kernel by up to three operators, among them the one that takes the
/// longest, and a number: "add_relu_3".
static std::string nameOf(nn::FusionOp fusion, size_t number) {
  SmallVector<std::string> parts;
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    nn::CustomAttr custom = nn::customOf(&op);
    std::string part =
        custom ? custom.getShortName() : op.getName().stripDialect().str();
    if (part != "constant" && part != "cast" && part != "reshape" &&
        !llvm::is_contained(parts, part))
      parts.push_back(part);
  }
  if (parts.empty())
    parts.push_back("copy");
  if (parts.size() > 3) {
    parts.resize(3);
    Operation *anchor = fusion.getAnchor();
    std::string name = anchor->getName().stripDialect().str();
    if (isa<nn::MatmulOp, nn::ConvOp, nn::AttentionOp>(anchor) &&
        !llvm::is_contained(parts, name))
      parts.back() = name;
  }
  return llvm::join(parts, "_") + "_" + std::to_string(number);
}

/// Returns the bytes of a convolution's input that its windows cover; strides
/// may exceed the window.
static int64_t bytesUnder(nn::ConvOp conv, int64_t bytes) {
  ArrayRef<int64_t> w = nn::shapeOf(conv.getW());
  size_t first = conv.getChannelsLast() ? 1 : 2;
  for (auto [i, stride] : llvm::enumerate(conv.getStrides()))
    if (int64_t size = w[first + i]; size < stride)
      bytes = bytes / stride * size;
  return bytes;
}

/// Returns the bytes of a fusion's inputs that it does not read; for reports.
static int64_t countSkipped(nn::FusionOp fusion) {
  auto bytesOf = [](Value tensor) -> int64_t {
    return plan::byteSize(tensor.getType());
  };
  int64_t skipped = 0;
  for (Value input : fusion.getBody().getArguments()) {
    int64_t all = bytesOf(input), read = 0;
    for (OpOperand &use : input.getUses()) {
      int64_t bytes = all;
      if (auto update = dyn_cast<nn::UpdateOp>(use.getOwner());
          update && update.getOffset() && update.getState() == input) {
        // It is not read, and only some rows are written.
        skipped += all - bytesOf(update.getValue());
        bytes = 0;
      }
      if (use.getOperandNumber() == 0)
        bytes = TypeSwitch<Operation *, int64_t>(use.getOwner())
                    .Case<nn::GatherOp, nn::SliceOp>(
                        [&](auto op) { return bytesOf(op.getResult()); })
                    .Case([&](nn::ConvOp op) { return bytesUnder(op, all); })
                    .Default(all);
      read = std::min(all, read + std::min(all, bytes));
    }
    skipped += all - read;
  }
  return skipped;
}

FlatSymbolRefAttr planning::Kernels::get(nn::FusionOp fusion) {
  StringAttr &name = names[nn::kernelText(fusion)];
  if (!name)
    name = create(fusion);
  return FlatSymbolRefAttr::get(name);
}

StringAttr planning::Kernels::create(nn::FusionOp fusion) {
  OpBuilder b = OpBuilder::atBlockBegin(&target.getBody().front());
  if (last)
    b.setInsertionPointAfter(last);
  auto kernel =
      plan::KernelOp::create(b, fusion.getLoc(), TypeRange(), ValueRange());
  kernel.setSymName(nameOf(fusion, names.size() - 1));
  if (int64_t flops = countFlops(fusion))
    kernel.setFlops(flops);
  if (int64_t skipped = countSkipped(fusion))
    kernel.setSkipped(skipped);
  Block &block = kernel.getBody().emplaceBlock();
  IRMapping map;
  for (Value input : fusion.getInputs())
    if (!map.contains(input))
      map.map(input, block.addArgument(input.getType(), input.getLoc()));
    else
      block.addArgument(input.getType(), input.getLoc());
  b.setInsertionPointToEnd(&block);
  Operation *inner = b.clone(*fusion, map);
  inner->setOperands(block.getArguments());
  last = kernel;
  return kernel.getSymNameAttr();
}
