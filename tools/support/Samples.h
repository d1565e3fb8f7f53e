//===- Samples.h - Data for which a model is run --------------------------===//

#ifndef FRIT_TOOLS_SUPPORT_SAMPLES_H
#define FRIT_TOOLS_SUPPORT_SAMPLES_H

#include "tools/support/Fault.h"
#include "tools/support/Tensor.h"

namespace frit::tools {

/// The inputs of many calls of a model, read from files.
///
/// Data are a file of tensors (see Files.h), or a folder whose files are read
/// in the order of their names. Each file has every input of the model: by
/// name, or as its only tensor if the model has one input. Tensors of other
/// names are ignored. An input in a file is
///
/// - of the model's shape: one call;
///
/// - longer in the first dimension: a call for each whole batch in it;
///
/// - of one more dimension in front: a call for each of its elements.
///
/// One of a single call is used with all calls of the other inputs. Floats and
/// integers may have other widths than the model's.
class Samples {
public:
  /// Reads data. They may be damaged.
  Fault read(const std::string &path);

  /// Cuts the data into calls of a model with `inputs`, of which names, types
  /// and shapes count. Fails if they do not fit, or if a float is no number.
  /// May be called again for another model.
  Fault fit(std::vector<Tensor> inputs);

  /// Returns the number of calls.
  size_t count() const { return calls.size(); }

  /// Returns the inputs of a call, in the order of the model's; valid until
  /// data are read or fitted again.
  std::vector<frit_tensor> call(size_t index);

private:
  struct File {
    std::string path;
    std::vector<Tensor> tensors;
    bool isArchive = false;
  };
  /// A call's inputs: tensors in `fitted`, and bytes at which they begin.
  struct Place {
    size_t tensor, offset;
  };

  Fault readFile(const std::string &path);
  Fault fitFile(const File &file);
  Fault fitTensor(const File &file, const Tensor &input, Tensor &result,
                  uint64_t &number) const;

  std::vector<File> files;
  std::vector<Tensor> inputs, fitted;
  std::vector<std::vector<Place>> calls;
};

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_SAMPLES_H
