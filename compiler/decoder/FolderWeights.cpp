//===- FolderWeights.cpp - The safetensors files of a folder --------------===//

#include "compiler/decoder/FolderWeights.h"

#include "compiler/decoder/TensorNames.h"
#include "compiler/import/Elements.h"
#include "compiler/json/Parse.h"
#include "compiler/json/Safetensors.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <set>

using namespace mlir;
using namespace frit;
using namespace frit::decoder;
using Json = nlohmann::ordered_json;

static constexpr StringLiteral kFile = "model.safetensors";
static constexpr StringLiteral kIndex = "model.safetensors.index.json";

/// The most differing tensors that messages name.
static constexpr int kMostNamed = 8;

std::string decoder::pathIn(StringRef folder, StringRef name) {
  SmallString<256> path(folder);
  llvm::sys::path::append(path, name);
  return path.str().str();
}

FolderWeights::FolderWeights(StringRef folder, const DecoderConfig &config,
                             MLIRContext &context)
    : folder(folder), config(config), context(context) {}

Location FolderWeights::locate(StringRef file) const {
  return FileLineColLoc::get(&context, pathIn(folder, file), 0, 0);
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

bool FolderWeights::openFile(StringRef name, const ImportOptions &options) {
  std::string path = pathIn(folder, name);
  Location loc = locate(name);
  if (options.onFile)
    options.onFile(path);
  if (!llvm::sys::fs::is_regular_file(path)) {
    emitError(loc) << "cannot be read: there is no such file";
    return false;
  }
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer) {
    emitError(loc) << "cannot be read: " << buffer.getError().message();
    return false;
  }
  if (options.onMap)
    options.onMap(path, (*buffer)->getBuffer());
  auto own = importer::readSafetensors(std::move(*buffer), loc);
  if (!own)
    return false;
  for (const auto &entry : *own) {
    auto [at, isNew] = files.try_emplace(entry.getKey(), name.str());
    if (!isNew) {
      emitError(loc) << "has the tensor '" << entry.getKey() << "', and so has "
                     << at->getValue();
      return false;
    }
    tensors[entry.getKey()] = entry.getValue();
  }
  return true;
}

bool FolderWeights::openIndex(StringRef index, const ImportOptions &options) {
  Location loc = locate(kIndex);
  Json file = importer::parseJson(index);
  Json map = file.is_object() ? file.value("weight_map", Json()) : Json();
  if (!map.is_object() || map.empty()) {
    emitError(loc) << (file.is_discarded()
                           ? importer::whyDiscarded(index)
                           : std::string("has no \"weight_map\" from tensors "
                                         "to files"));
    return false;
  }
  std::set<std::string> names;
  for (const auto &[tensor, value] : map.items()) {
    std::string name = value.is_string() ? value.get<std::string>() : "";
    // A model must not read files outside of its folder.
    if (name.empty() || name == ".." ||
        llvm::sys::path::filename(name) != name) {
      emitError(loc) << "the file of tensor '" << tensor
                     << "' is not one in the model's folder";
      return false;
    }
    names.insert(name);
  }
  for (const std::string &name : names)
    if (!openFile(name, options))
      return false;
  for (const auto &[tensor, value] : map.items())
    if (files.lookup(tensor) != value.get<std::string>()) {
      emitError(loc) << "tensor '" << tensor << "' is not in "
                     << value.get<std::string>();
      return false;
    }
  return true;
}

std::unique_ptr<FolderWeights> FolderWeights::open(StringRef folder,
                                                   const DecoderConfig &config,
                                                   const ImportOptions &options,
                                                   MLIRContext &context) {
  std::unique_ptr<FolderWeights> made(
      new FolderWeights(folder, config, context));
  bool isOpen;
  if (auto index = llvm::MemoryBuffer::getFile(pathIn(folder, kIndex))) {
    if (options.onFile)
      options.onFile(pathIn(folder, kIndex));
    isOpen = made->openIndex((*index)->getBuffer(), options);
  } else if (llvm::sys::fs::exists(pathIn(folder, kFile))) {
    isOpen = made->openFile(kFile, options);
  } else {
    emitError(FileLineColLoc::get(&context, folder, 0, 0))
        << "has neither " << kFile << " nor " << kIndex
        << "; model.save_pretrained(FOLDER) of transformers writes one";
    return nullptr;
  }
  if (!isOpen)
    return nullptr;
  for (StringRef prefix : tensorPrefixes(config)) {
    made->prefix = prefix;
    if (made->tensors.contains(made->nameOf({Part::embedding})))
      break;
  }
  return made;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

std::string FolderWeights::nameOf(const TensorId &id) const {
  std::string name = tensorName(config, id);
  if (id.part != Part::head)
    return prefix + name;
  // Models with images prefix the head, too.
  std::string apart = "language_model." + name;
  return tensors.contains(apart) ? apart : name;
}

Value FolderWeights::build(nn::NNBuilder &b, const TensorId &id,
                           ArrayRef<int64_t> shape, Type element) {
  std::string name = nameOf(id);
  ElementsAttr value = tensors.lookup(name);
  if (!value) {
    emitError(FileLineColLoc::get(&context, folder, 0, 0))
        << "lacks the tensor '" << name << "', " << nn::shapeText(shape);
    return {};
  }
  read.insert(name);
  auto type = cast<RankedTensorType>(value.getType());
  Location loc = locate(files.lookup(name));
  if (type.getShape() != shape) {
    emitError(loc) << "tensor '" << name << "' has the shape "
                   << nn::shapeText(type.getShape())
                   << ", but config.json says " << nn::shapeText(shape);
    return {};
  }
  Type stored = type.getElementType();
  if (!stored.isF32() && !stored.isF16() && !stored.isBF16()) {
    emitError(loc) << "tensor '" << name << "' has elements of the type "
                   << stored << ", not f32, f16 or bf16";
    return {};
  }
  Location own = NameLoc::get(b.getStringAttr("weight '" + name + "'"), loc);
  Value weight =
      nn::ConstantOp::create(b, own, value, b.getStringAttr(name)).getY();
  return b.cast(weight, element);
}

LogicalResult FolderWeights::checkAllRead() {
  std::set<std::string> extra;
  for (const auto &entry : tensors)
    if (!read.contains(entry.getKey()) && !isUnused(config, entry.getKey()))
      extra.insert(entry.getKey().str());
  int named = 0;
  for (const std::string &name : extra) {
    if (named++ == kMostNamed) {
      emitError(locate(files.lookup(name)))
          << "and " << extra.size() - kMostNamed << " more";
      break;
    }
    emitError(locate(files.lookup(name)))
        << "has the tensor '" << name << "', which a model of the family "
        << config.family << " with this config.json does not have";
  }
  return success(extra.empty());
}

Type FolderWeights::embeddingType() const {
  ElementsAttr value = tensors.lookup(nameOf({Part::embedding}));
  return value ? value.getElementType() : Type(Float32Type::get(&context));
}
