//===- numpy.cpp - Fuzz the readers of tensor files -----------------------===//
//
// The compiler and frit-run read the bytes as .npy, frit-run also as .npz and
// as a TensorProto. Tensors that were read must survive writing and reading
// again.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/reader/Tensors.h"
#include "test/fuzz/Context.h"
#include "test/fuzz/Target.h"
#include "tools/support/Bytes.h"

#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace frit;
using tools::Tensor;

static void readInCompiler(llvm::StringRef bytes) {
  MLIRContext &context = fuzz::context();
  unsigned before = fuzz::errors();
  auto value =
      importer::readNumpy(llvm::MemoryBuffer::getMemBufferCopy(bytes, "x.npy"),
                          "x", UnknownLoc::get(&context));
  if (!value && fuzz::errors() == before)
    fuzz::broken("an input is refused only with an error");
}

static void writeAgain(const Tensor &tensor) {
  if (tensor.data.size() % frit_dtype_size(tensor.dtype))
    fuzz::broken("a tensor has whole elements");
  std::vector<uint8_t> bytes = tools::makeNpy(tensor);
  Tensor again;
  if (tools::readNpy(bytes, again) || again.dims != tensor.dims)
    fuzz::broken("frit-run reads the files that it writes");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  tools::Bytes bytes(data, size);
  readInCompiler({reinterpret_cast<const char *>(data), size});
  if (Tensor tensor; !tools::readNpy(bytes, tensor))
    writeAgain(tensor);
  if (Tensor tensor; !tools::readOnnxTensor(bytes, tensor))
    writeAgain(tensor);
  std::vector<Tensor> tensors;
  if (!tools::readNpz(bytes, tensors))
    for (const Tensor &tensor : tensors)
      writeAgain(tensor);
  return 0;
}
