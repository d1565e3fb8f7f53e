//===- Dataset.h - Samples for the inputs of a step -----------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_DATA_DATASET_H
#define FRIT_TOOLS_FRIT_TRAIN_DATA_DATASET_H

#include "tools/support/Mapped.h"

#include <optional>
#include <string>
#include <vector>

namespace frit::train {

using namespace tools;

/// An input of a compiled step. Its first dimension counts samples.
struct Input {
  std::string name;
  frit_dtype dtype = FRIT_F32;
  std::vector<int64_t> dims;

  bool isInteger() const;
};

/// Samples in files, one per entry of the tensors' first dimension, or cut from
/// a file of tokens.
class Dataset {
public:
  /// Opens `sources` and finds a tensor for each of `inputs` by its name. A
  /// source is a .safetensors or .npz file, a folder of .npy files named like
  /// the inputs, or NAME=FILE.npy. Types must be equal, and so must shapes
  /// except for the first dimension, which must be the same for all.
  Fault open(const std::vector<std::string> &sources,
             const std::vector<Input> &inputs);

  /// Opens a file of tokens: FILE[,type=u16
  /// u32
  /// i32
  /// i64
  /// u8][,skip=BYTES]. There must be two integer inputs of shape batch x
  /// length. The first gets tokens, and the second the tokens after them.
  /// Samples follow each other without overlap.
  Fault openTokens(const std::string &source, const std::vector<Input> &inputs);

  uint64_t count() const { return samples; }

  const std::vector<Input> &inputs() const { return given; }
  uint64_t sampleBytes(size_t input) const { return columns[input].bytes; }

  /// Copies the sample's part of `input`, sampleBytes bytes.
  void copy(uint64_t sample, size_t input, uint8_t *to) const;

private:
  /// Samples of an input.
  struct Column {
    uint64_t bytes = 0; ///< of a sample
    TensorView view;
    uint64_t shift = 0; ///< tokens that this column is ahead by
  };

  Fault add(TensorView tensor, const std::string &source);
  Fault addSource(const std::string &source);
  Fault addFolder(const std::string &folder);
  Fault checkComplete(const std::vector<std::string> &sources);

  std::vector<Input> given;
  std::vector<Column> columns; ///< per input
  uint64_t samples = 0;
  bool hasTokens = false;
  std::vector<std::string> unused; ///< tensors whose name is no input's
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_DATA_DATASET_H
