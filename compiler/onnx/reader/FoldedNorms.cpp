//===- FoldedNorms.cpp - Find batch norms that an exporter folded ---------===//
//
// Exporters fold the batch norms of models in eval mode into the convolutions
// before them; nothing but weights and biases is left to train. Both of
// PyTorch's exporters leave marks. The TorchScript exporter computes new
// weights and names them after their reader, "onnx::Conv_26". The newer one
// records in a node's metadata which rule made it from which nodes of the
// model.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/reader/Importer.h"

using namespace frit::importer;
using llvm::SmallVector;
using llvm::StringRef;
using ::onnx::NodeProto;

static bool hasFoldedNorm(const NodeProto &node) {
  for (const auto &entry : node.metadata_props()) {
    StringRef key = entry.key(), value = entry.value();
    if (key == "pkg.onnxscript.rewriter.rule_name" &&
        value.contains("FuseBatchNorm"))
      return true;
    if (key == "pkg.torch.onnx.fx_node" && value.contains("batch_norm"))
      return true;
  }
  auto isComputed = [&](int input) {
    return StringRef(node.input(input)).starts_with("onnx::Conv_");
  };
  return node.input_size() == 3 && isComputed(1) && isComputed(2);
}

void Importer::warnOfFoldedNorms() {
  SmallVector<const NodeProto *> folded;
  for (const NodeProto &node : model->graph().node())
    if ((node.op_type() == "Conv" || node.op_type() == "ConvTranspose" ||
         node.op_type() == "Gemm") &&
        hasFoldedNorm(node))
      folded.push_back(&node);
  if (folded.empty())
    return;
  mlir::emitWarning(locate(*folded.front(), graph))
      << "the exporter folded a batch norm into it"
      << (folded.size() > 1
              ? ", and others into " + std::to_string(folded.size() - 1) +
                    " more nodes"
              : "")
      << "; the model trains without them. To keep them, export it with "
         "torch.onnx.export(..., dynamo=True, optimize=False), or with "
         "dynamo=False, training=TrainingMode.PRESERVE, "
         "do_constant_folding=False [-Wfolded]";
}
