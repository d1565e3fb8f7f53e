//===- Dataset.h - Samples for the inputs of a step -----------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_DATA_DATASET_H
#define FRIT_TOOLS_FRIT_TRAIN_DATA_DATASET_H

#include "tools/frit-train/data/ImageFolder.h"
#include "tools/frit-train/data/PackedTokens.h"
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

/// Samples in files, one per entry of the tensors' first dimension, cut from a
/// file of tokens, or images in a folder.
class Dataset {
public:
  /// Opens `sources` and finds a tensor for each of `inputs` by its name. A
  /// source is a .safetensors or .npz file, a folder of .npy files named like
  /// the inputs, or NAME=FILE.npy. Types must be equal, and so must shapes
  /// except for the first dimension, which must be the same for all.
  ///
  /// A folder of folders has images (see ImageFolder.h), for an input of bytes,
  /// batch x rows x columns x channels. Another input, of integers, gets the
  /// numbers of their classes.
  Fault open(const std::vector<std::string> &sources,
             const std::vector<Input> &inputs);

  /// Opens a file of tokens: FILE[,type=u16|u32|i32|i64|u8][,skip=BYTES]. There
  /// must be two integer inputs of shape batch x length. The first gets tokens,
  /// and the second the tokens after them. Samples follow each other without
  /// overlap.
  ///
  /// With ",end=TOKEN", samples are documents that end with this token, packed
  /// in rows (see PackedTokens.h). The labels of padding are `ignored`. Other
  /// inputs of that shape may be position_ids, from 0 in each document,
  /// segment_ids, the number of a place's document from 1 on, and
  /// attention_mask, 1; all are 0 in padding.
  Fault openTokens(const std::string &source, const std::vector<Input> &inputs,
                   int64_t ignored);

  uint64_t count() const { return samples; }

  const std::vector<Input> &inputs() const { return given; }
  uint64_t sampleBytes(size_t input) const { return columns[input].bytes; }

  /// Copies the sample's part of `input`, sampleBytes bytes, or decodes it.
  Fault copy(uint64_t sample, size_t input, uint8_t *to) const;

  /// Returns the names of the classes of images; none of other samples.
  const std::vector<std::string> &classes() const { return images.classes(); }

private:
  /// What an input has of packed documents.
  enum class Part { tokens, labels, positions, segments, mask };

  /// Samples of an input.
  struct Column {
    uint64_t bytes = 0; ///< of a sample
    TensorView view;
    uint64_t shift = 0;       ///< tokens that this column is ahead by
    Part part = Part::tokens; ///< of packed documents
  };

  Fault add(TensorView tensor, const std::string &source);
  Fault addSource(const std::string &source);
  Fault addFolder(const std::string &folder);
  Fault openImages(const std::string &folder);
  void copyTokens(uint64_t sample, size_t input, uint8_t *to) const;
  Fault findParts();
  void copyPacked(uint64_t sample, size_t input, uint8_t *to) const;
  Fault checkComplete(const std::vector<std::string> &sources);

  std::vector<Input> given;
  std::vector<Column> columns; ///< per input
  uint64_t samples = 0;
  bool hasTokens = false;
  ImageFolder images;              ///< empty if samples are others
  PackedTokens packed;             ///< too
  int64_t end = 0, ignored = -100; ///< of packed documents and their labels
  std::vector<std::string> unused; ///< tensors whose name is no input's
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_DATA_DATASET_H
