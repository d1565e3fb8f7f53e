//===- Artifact.cpp - Write model.o or model.so ---------------------------===//

#include "compiler/driver/Artifact.h"

#include "compiler/driver/Linking.h"
#include "compiler/driver/Outputs.h"
#include "compiler/driver/Status.h"
#include "compiler/support/Progress.h"
#include "compiler/support/TemporaryFolder.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/ThreadPool.h"

#include <mutex>

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

/// Protects the files that a Makefile's rule depends on: "x.o: x.c \\\n
/// a\\ b.h".
static void protectHeaders(StringRef rule) {
  std::string name;
  auto end = [&] {
    if (!name.empty())
      protectInput(name);
    name.clear();
  };
  for (size_t i = 0; i < rule.size(); ++i) {
    bool isEscape = rule[i] == '\\' && i + 1 < rule.size() &&
                    StringRef(" \n#\\").contains(rule[i + 1]);
    if (isEscape && rule[++i] == '\n')
      end();
    else if (!isEscape && isSpace(rule[i]))
      end();
    else
      name += rule[i];
  }
  end();
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
    std::string headers = folder.file(source.symbol + ".d");
    auto command = compileCommand(input, objects.back(), headers, source.folder,
                                  source.arch, options.system);
    if (!command)
      return command.takeError();
    options.say(join(*command, " "));
    if (Error e = run(*command, kBadInput))
      return e;
    if (auto rule = MemoryBuffer::getFile(headers))
      protectHeaders((*rule)->getBuffer());
  }
  return Error::success();
}

/// Compiles the image and the kernels: to one object, or to several that are
/// linked to a shared library. The image's object comes first.
static std::vector<Bytes>
compileObjects(MutableArrayRef<cpu::KernelModule> kernels,
               const artifact::Image &image, const ArtifactOptions &options) {
  LLVMContext context;
  Module main("frit", context);
  StringRef arch = nameOf(options.machine);
  auto machine = cantFail(cpu::createMachine(arch, options.system));
  main.setDataLayout(machine->createDataLayout());
  main.setTargetTriple(machine->getTargetTriple());
  SmallVector<Module *> modules = {&main};
  for (cpu::KernelModule &kernel : kernels) {
    if (options.form == Form::shared)
      modules.push_back(kernel.module.get());
    else
      artifact::copyInto(main, *kernel.module);
  }
  artifact::addImage(main, image, imageSymbol(options), options.form);
  std::vector<Bytes> objects(modules.size());
  size_t done = 0;
  std::mutex mutex;
  DefaultThreadPool pool;
  for (auto [module, object] : zip_equal(modules, objects))
    pool.async([&, module] {
      object = artifact::compileObject(
          *module, *cantFail(cpu::createMachine(arch, options.system)));
      std::lock_guard lock(mutex);
      options.progress(++done, objects.size());
    });
  pool.wait();
  return objects;
}

/// Links `objects` and the objects of users' C into the artifact. All are
/// small, because none has the weights.
static Expected<Bytes> link(ArrayRef<Bytes> objects,
                            const ArtifactOptions &options) {
  TemporaryFolder folder;
  if (std::error_code error = TemporaryFolder::create(folder))
    return outputError(temporaryPlace(), error);
  std::vector<std::string> inputs;
  // MinGW's compiler adds .exe to a name without an ending.
  std::string output = folder.file(
      options.system == HostSystem::windows ? "linked.dll" : "linked");
  for (auto [i, object] : enumerate(objects)) {
    inputs.push_back(folder.file(("model" + Twine(i) + ".o").str()));
    if (Error e = artifact::writeBytes(inputs.back(), object))
      return outputError(inputs.back(), std::move(e));
  }
  if (Error e = compileSources(options, folder, inputs))
    return e;
  LinkedFor place{options.machine, options.system};
  auto command = options.form == Form::shared
                     ? linkCommand(place, inputs, output, &folder)
                     : joinCommand(place, inputs, output);
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

/// The most bytes of weights in a file for Windows, whose linkers and loader
/// count in 32 bits.
static constexpr uint64_t kMostInCoff = uint64_t(1) << 30;

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

Error frit::writeArtifact(MutableArrayRef<cpu::KernelModule> kernels,
                          const artifact::Image &image,
                          const ArtifactOptions &options,
                          mlir::TimingScope &timing) {
  auto file =
      createOutput(options.output, options.form == Form::shared ? 0777 : 0666);
  if (!file)
    return file.takeError();
  bool isCoff = options.system == HostSystem::windows;
  if (isCoff && image.embeddedBytes() > kMostInCoff)
    return make_error<StatusError>(
        kBadUsage, "the model has more weights than a file for Windows holds, "
                   "1 GiB; use -fexternal-weights");
  mlir::TimingScope scope = timing.nest("object");
  std::vector<Bytes> objects = compileObjects(kernels, image, options);
  if (options.form == Form::shared)
    for (auto [i, object] : enumerate(objects))
      if (Error e = options.keepObject(toStringRef(object), i))
        return e;
  bool links = options.form == Form::shared || !options.sources.empty();
  if (links)
    scope = timing.nest("link");
  Expected<Bytes> elf =
      links ? link(objects, options) : std::move(objects.front());
  if (!elf)
    return elf.takeError();
  scope = timing.nest("weights");
  Progress progress("write weights");
  if (!image.weightsHead.empty())
    return writeBoth(*file, *elf, image, options);
  // The section of the weights in COFF is written by LLVM.
  if (isCoff) {
    if (Error e = artifact::writeBytes(file->path(), *elf))
      return outputError(options.output, std::move(e));
    return outputError(options.output, file->commit());
  }
  uint64_t offset = elf->size();
  if (image.weightBytes) {
    auto place = artifact::reserveWeights(
        *elf, options.form, imageSymbol(options), image.weightBytes);
    if (!place)
      return place.takeError();
    offset = *place;
  }
  if (Error e = artifact::writeWithWeights(file->path(), *elf, offset, image,
                                           options.mapped))
    return outputError(options.output, std::move(e));
  return outputError(options.output, file->commit());
}
