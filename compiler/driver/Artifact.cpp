//===- Artifact.cpp - model.o or model.so ---------------------------------===//

#include "compiler/driver/Artifact.h"

#include "compiler/driver/Outputs.h"
#include "compiler/driver/Progress.h"
#include "compiler/driver/Status.h"
#include "compiler/driver/TemporaryFolder.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace frit;
using artifact::Form;

using Bytes = SmallVector<char, 0>;

std::string frit::imageSymbol(const ArtifactOptions &options) {
  return (options.name + "_image").str();
}

std::string frit::weightsName(const ArtifactOptions &options) {
  auto folderOf = [](StringRef path) {
    SmallString<128> absolute(path);
    sys::fs::make_absolute(absolute);
    sys::path::remove_dots(absolute, /*remove_dot_dot=*/true);
    return sys::path::parent_path(absolute).str();
  };
  if (options.weightsFile.empty())
    return "";
  StringRef name = sys::path::filename(options.weightsFile);
  std::string folder = folderOf(options.weightsFile);
  return folder == folderOf(options.output) ? name.str()
                                            : folder + "/" + name.str();
}

/// Compiles users' C to objects in `folder`, and adds their names.
static Error compileSources(const ArtifactOptions &options,
                            TemporaryFolder &folder,
                            std::vector<std::string> &objects) {
  for (const cpu::UserSource &source : options.sources) {
    std::string input = folder.file(source.symbol + ".c");
    objects.push_back(folder.file(source.symbol + ".o"));
    if (Error e = artifact::writeBytes(input, source.text))
      return outputError(input, std::move(e));
    auto command =
        compileCommand(input, objects.back(), source.folder, source.arch);
    if (!command)
      return command.takeError();
    options.say(join(*command, " "));
    if (Error e = run(*command, kBadInput))
      return e;
  }
  return Error::success();
}

/// Links `object` and the objects of users' C into the artifact. All are small,
/// as none has the weights.
static Expected<Bytes> link(ArrayRef<char> object,
                            const ArtifactOptions &options) {
  TemporaryFolder folder;
  if (std::error_code error = TemporaryFolder::create(folder))
    return outputError(temporaryPlace(), error);
  std::vector<std::string> inputs = {folder.file("model.o")};
  std::string output = folder.file("linked");
  if (Error e = artifact::writeBytes(inputs[0], object))
    return outputError(inputs[0], std::move(e));
  if (Error e = compileSources(options, folder, inputs))
    return e;
  auto command = options.form == Form::shared ? linkCommand(inputs, output)
                                              : joinCommand(inputs, output);
  if (!command)
    return command.takeError();
  options.say(join(*command, " "));
  if (Error e = run(*command))
    return e;
  auto linked = MemoryBuffer::getFile(output);
  if (!linked)
    return createFileError(output, linked.getError());
  StringRef bytes = (*linked)->getBuffer();
  return Bytes(bytes.begin(), bytes.end());
}

/// Writes the artifact and a file for its weights.
static Error writeBoth(OutputFile &file, ArrayRef<char> elf,
                       const artifact::Image &image,
                       const ArtifactOptions &options) {
  auto weights = createOutput(options.weightsFile);
  if (!weights)
    return weights.takeError();
  if (Error e = artifact::writeWithWeights(weights->path(), image.weightsHead,
                                           image.weightsHead.size(), image,
                                           options.mapped))
    return outputError(options.weightsFile, std::move(e));
  if (Error e = artifact::writeBytes(file.path(), elf))
    return outputError(options.output, std::move(e));
  if (Error e = outputError(options.weightsFile, weights->commit()))
    return e;
  return outputError(options.output, file.commit());
}

Error frit::writeArtifact(Module &module, TargetMachine &machine,
                          const artifact::Image &image,
                          const ArtifactOptions &options,
                          mlir::TimingScope &timing) {
  std::string symbol = imageSymbol(options);
  auto file =
      createOutput(options.output, options.form == Form::shared ? 0777 : 0666);
  if (!file)
    return file.takeError();
  mlir::TimingScope scope = timing.nest("object");
  artifact::addImage(module, image, symbol, options.form);
  Expected<Bytes> elf = artifact::compileObject(module, machine);
  if (elf && (options.form == Form::shared || !options.sources.empty())) {
    if (options.form == Form::shared)
      if (Error e = options.keepObject(toStringRef(*elf)))
        return e;
    scope = timing.nest("link");
    elf = link(*elf, options);
  }
  if (!elf)
    return elf.takeError();
  scope = timing.nest("weights");
  Progress progress("write weights");
  if (!image.weightsHead.empty())
    return writeBoth(*file, *elf, image, options);
  uint64_t offset = elf->size();
  if (image.weightBytes) {
    auto place =
        artifact::reserveWeights(*elf, options.form, symbol, image.weightBytes);
    if (!place)
      return place.takeError();
    offset = *place;
  }
  if (Error e = artifact::writeWithWeights(file->path(), *elf, offset, image,
                                           options.mapped))
    return outputError(options.output, std::move(e));
  return outputError(options.output, file->commit());
}
