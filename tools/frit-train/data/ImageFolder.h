//===- ImageFolder.h - Images in folders of their classes -----------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_DATA_IMAGEFOLDER_H
#define FRIT_TOOLS_FRIT_TRAIN_DATA_IMAGEFOLDER_H

#include "tools/support/Bytes.h"

#include <string>
#include <vector>

namespace frit::train {

using namespace tools;

/// A folder with a folder of images, .jpg, .jpeg or .png, for each class, as of
/// torchvision's ImageFolder. Classes are numbered in the order of their names,
/// and so are images. Hidden files and files with other endings do not count.
class ImageFolder {
public:
  /// Returns whether a folder has folders, and no .npy files.
  static bool isOne(const std::string &folder);

  /// Lists the images. They become inputs, which no output overwrites.
  Fault open(const std::string &folder);

  uint64_t count() const { return images.size(); }
  const std::vector<std::string> &classes() const { return names; }
  int64_t classOf(uint64_t image) const { return images[image].label; }

  /// Reads an image and fits it (see Image.h). On any thread.
  Fault read(uint64_t image, uint64_t height, uint64_t width, uint64_t channels,
             uint8_t *to) const;

private:
  Fault addClass(const std::string &name);

  struct Entry {
    std::string path; ///< in the folder
    int64_t label;
  };

  std::string folder;
  std::vector<std::string> names;
  std::vector<Entry> images;
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_DATA_IMAGEFOLDER_H
