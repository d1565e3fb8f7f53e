//===- EntryPoint.h - Functions of an artifact while it is compiled -------===//

#ifndef FRIT_COMPILER_PIPELINE_ENTRYPOINT_H
#define FRIT_COMPILER_PIPELINE_ENTRYPOINT_H

#include "compiler/decoder/Decoder.h"
#include "compiler/import/Import.h"
#include "compiler/padding/ImportVariants.h"
#include "compiler/training/Training.h"

#include "llvm/Support/MemoryBuffer.h"

namespace frit {

/// A file of a model that has several.
struct ModelFile {
  std::shared_ptr<llvm::MemoryBuffer> bytes;
  std::string path;
};

/// Where a function comes from: a model's file or, in a JSON graph with
/// "functions", one of them. A language model is the source of two.
struct ModelSource {
  std::shared_ptr<llvm::MemoryBuffer> file; ///< null for a folder
  std::string path; ///< weights lie beside it, and messages name it
  bool isJson = false;
  std::string name = "main"; ///< of the function
  std::string graph;         ///< its name in "functions"; "" if there are none
  ImportOptions import;
  /// Dimensions that are compiled for several sizes.
  std::vector<SymbolSizes> openSymbols = {};
  /// Types of inputs and outputs that differ from the model's: NAME:TYPE.
  llvm::SmallVector<std::string> types = {};
  /// Inputs that stay between calls, and their next values: IN:OUT.
  llvm::SmallVector<std::string> states = {};
  /// The sampler of a model of diffusion, as readSampler reads it; or empty.
  std::string sampler = {};
  /// Set if `path` is a language model: a folder, a GGUF file, or a file with
  /// caches as inputs that become states.
  std::optional<decoder::DecoderOptions> decoder = {};
  /// Of a language model with an encoder, as ONNX: its files.
  std::vector<ModelFile> parts = {};
};

/// A function of the artifact. Each target gets the steps of its variants; code
/// and prepared weights are shared with the other functions.
struct EntryPoint {
  std::string name;
  frit_function_role role = FRIT_FUNCTION_INFERENCE;
  ModelVariants model = {};
  llvm::SmallVector<std::string> types = {}, states = {}; ///< as in its source
  /// Set for functions of a model that trains.
  std::optional<TrainingOptions> training = {};
  /// The importer has chosen the types of all values.
  bool hasTypes = false;
  std::string sampler = {}; ///< as in its source
  /// The 16-bit type of a model that is quantized, as a precision: its values
  /// are f32 until the precision is applied. Empty for other models.
  std::string ownPrecision = {};

  bool isTrainStep() const { return role == FRIT_FUNCTION_TRAIN_STEP; }
};

} // namespace frit

#endif // FRIT_COMPILER_PIPELINE_ENTRYPOINT_H
