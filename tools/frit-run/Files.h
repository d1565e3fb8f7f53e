//===- Files.h - Tensors in files -----------------------------------------===//

#ifndef FRIT_RUN_FILES_H
#define FRIT_RUN_FILES_H

#include "ExitStatus.h"
#include "Tensor.h"

namespace frit::run {

/// Reads all tensors of a .npy, .npz, .safetensors or ONNX .pb file, told apart
/// by their contents. One from a .npy has no name. False, with what is wrong in
/// `error`, where that fails; the file may be damaged in any way. `isArchive`
/// is told whether the tensors' names count, or their place.
bool readTensors(const std::string &path, std::vector<Tensor> &tensors,
                 std::string &error, bool *isArchive = nullptr);

/// No output replaces the model, or a file of weights in the folder where its
/// own are: `weights`, or the model's where that is empty.
void protectModel(const std::string &model, const std::string &weights);

/// Writes a .npy, where `path` ends so and there is one tensor, or an .npz.
/// What numpy has no type for is widened to float32. Leaves nothing behind
/// where it fails, and replaces no input (see OutputFile.h). What it fails with
/// is in `error`.
ExitStatus writeTensors(const std::string &path,
                        const std::vector<Tensor> &tensors, std::string &error);

} // namespace frit::run

#endif // FRIT_RUN_FILES_H
