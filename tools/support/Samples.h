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
  /// The data are kept once: converted to the inputs' types, they stay so. May
  /// be called again for another model, which then gets numbers of these types;
  /// after a failure, read them first.
  Fault fit(std::vector<Tensor> inputs);

  /// Returns the number of calls.
  size_t count() const { return calls.size(); }

  /// Returns the inputs of a call, in the order of the model's; valid until
  /// data are read or fitted again.
  std::vector<frit_tensor> call(size_t index) const;

private:
  struct File {
    std::string path;
    std::vector<Tensor> tensors;
    bool isArchive = false;
  };
  Fault readFile(const std::string &path);
  Fault fitFile(File &file);
  Fault fitTensor(File &file, const Tensor &input, const Tensor *&data,
                  uint64_t &number);

  std::vector<File> files;
  std::vector<Tensor> inputs;
  /// The elements of each input, in `files`; by call.
  std::vector<std::vector<const uint8_t *>> calls;
};

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_SAMPLES_H
