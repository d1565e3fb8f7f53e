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

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

bool FolderWeights::openFile(StringRef name, const ImportOptions &options) {
  std::string path = pathIn(folder, name);
  Location loc = tensors.locate(name);
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
  for (const auto &entry : *own)
    if (auto other = tensors.add(entry.getKey(), entry.getValue(), name)) {
      emitError(loc) << "has the tensor '" << entry.getKey() << "', and so has "
                     << *other;
      return false;
    }
  return true;
}

bool FolderWeights::openIndex(StringRef index, const ImportOptions &options) {
  Location loc = tensors.locate(kIndex);
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
    if (tensors.fileOf(tensor) != value.get<std::string>()) {
      emitError(loc) << "tensor '" << tensor << "' is not in "
                     << value.get<std::string>();
      return false;
    }
  return true;
}

std::unique_ptr<FolderWeights> FolderWeights::open(StringRef folder,
                                                   const DecoderConfig &config,
                                                   Scheme scheme,
                                                   const ImportOptions &options,
                                                   MLIRContext &context) {
  std::unique_ptr<FolderWeights> made(
      new FolderWeights(folder, config, std::move(scheme), context));
  bool isOpen;
  // An index beside the whole file is of an older version, as for transformers.
  if (llvm::sys::fs::exists(pathIn(folder, kFile))) {
    isOpen = made->openFile(kFile, options);
  } else if (auto index = llvm::MemoryBuffer::getFile(pathIn(folder, kIndex))) {
    if (options.onFile)
      options.onFile(pathIn(folder, kIndex));
    isOpen = made->openIndex((*index)->getBuffer(), options);
  } else {
    emitError(made->tensors.locate(""))
        << "has neither " << kFile << " nor " << kIndex
        << "; model.save_pretrained(FOLDER) of transformers writes one";
    return nullptr;
  }
  if (!isOpen)
    return nullptr;
  for (StringRef prefix : tensorPrefixes(config)) {
    made->prefix = prefix;
    if (made->has({Part::embedding}))
      break;
  }
  return made;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

std::string FolderWeights::moduleOf(const TensorId &id) const {
  std::string name = moduleName(config, id);
  if (id.part != Part::head)
    return prefix + name;
  // Models with images prefix the head, too.
  std::string apart = "language_model." + name;
  bool isApart =
      tensors.contains(apart + ".weight") || hasCodes(tensors, apart);
  return isApart ? apart : name;
}

std::string FolderWeights::nameOf(const TensorId &id) const {
  return moduleOf(id) + (id.isBias ? ".bias" : ".weight");
}

/// Returns the location of operators that read a weight, whose bytes the tensor
/// `stored` has.
Location FolderWeights::locationOf(StringRef weight, StringRef stored) const {
  return NameLoc::get(StringAttr::get(&context, "weight '" + weight + "'"),
                      tensors.locate(tensors.fileOf(stored)));
}

/// Builds a matrix that is stored as codes.
Value FolderWeights::buildCodes(nn::NNBuilder &b, const TensorId &id,
                                ArrayRef<int64_t> shape, Type element) {
  std::string module = moduleOf(id), name = module + ".weight";
  // Codes of products are outputs × inputs in all models.
  int64_t rows = shape[0], columns = shape[1];
  bool isTable = id.part == Part::embedding || id.part == Part::positions ||
                 id.part == Part::relativeBias;
  bool isTurned = config.storesInputsFirst && !isTable && id.part != Part::head;
  if (isTurned)
    std::swap(rows, columns);
  auto found = coded.find(module);
  if (found == coded.end()) {
    auto made = readCodes(tensors, scheme, module, rows, columns);
    if (!made)
      return {};
    if (made->order && isTable) {
      std::string order = module + ".weight_g_idx";
      tensors.fail(tensors.contains(order) ? order : module + ".g_idx")
          << "has an order of columns, which is for products";
      return {};
    }
    found = coded.try_emplace(module, std::move(*made)).first;
  }
  const CodedMatrix &matrix = found->getValue();
  Location own = locationOf(name, codesNameOf(tensors, module));
  auto constant = [&](ElementsAttr value, const Twine &suffix) -> Value {
    if (!value)
      return {};
    return nn::ConstantOp::create(b, own, value,
                                  b.getStringAttr(name + suffix));
  };
  Value y = nn::DequantizeOp::create(b, own, constant(matrix.codes, ".codes"),
                                     constant(matrix.scales, ".scales"),
                                     constant(matrix.offsets, ".offsets"),
                                     nn::nameOf(matrix.code), element,
                                     /*tiled=*/false);
  if (!isTurned)
    return y;
  return nn::TransposeOp::create(b, own, y, ArrayRef<int64_t>{1, 0});
}

Value FolderWeights::build(nn::NNBuilder &b, const TensorId &id,
                           ArrayRef<int64_t> shape, Type element) {
  if (!id.isBias && shape.size() == 2 && hasCodes(tensors, moduleOf(id)))
    return buildCodes(b, id, shape, element);
  std::string name = nameOf(id);
  ElementsAttr value = tensors.read(name);
  if (!value) {
    emitError(tensors.locate(""))
        << "lacks the tensor '" << name << "', " << nn::shapeText(shape);
    return {};
  }
  auto type = cast<RankedTensorType>(value.getType());
  if (type.getShape() != shape) {
    tensors.fail(name) << "has the shape " << nn::shapeText(type.getShape())
                       << ", but config.json says " << nn::shapeText(shape);
    return {};
  }
  Type stored = type.getElementType();
  if (!stored.isF32() && !stored.isF16() && !stored.isBF16()) {
    tensors.fail(name) << "has elements of the type " << stored
                       << ", not f32, f16"
                       << (shape.size() == 2 && !id.isBias
                               ? ", bf16, f8E4M3FN or i8"
                               : " or bf16");
    return {};
  }
  Value weight = nn::ConstantOp::create(b, locationOf(name, name), value,
                                        b.getStringAttr(name))
                     .getY();
  return b.cast(weight, element);
}

ElementsAttr FolderWeights::inputOrder(const TensorId &id) const {
  auto found = coded.find(moduleOf(id));
  return found == coded.end() ? ElementsAttr() : found->getValue().order;
}

LogicalResult FolderWeights::checkAllRead() {
  std::vector<std::string> extra;
  for (std::string &name : tensors.names())
    if (!tensors.wasRead(name) && !isUnused(config, name) &&
        !(scheme.isQuantized && isUnneeded(tensors, name)))
      extra.push_back(std::move(name));
  int named = 0;
  for (const std::string &name : extra) {
    Location loc = tensors.locate(tensors.fileOf(name));
    if (named++ == kMostNamed) {
      emitError(loc) << "and " << extra.size() - kMostNamed << " more";
      break;
    }
    emitError(loc) << "has the tensor '" << name
                   << "', which a model of the family " << config.family
                   << " with this config.json does not have";
  }
  return success(extra.empty());
}

bool FolderWeights::hasOtherHead() const {
  ElementsAttr embedding = tensors.find(nameOf({Part::embedding}));
  ElementsAttr head = tensors.find(nameOf({Part::head}));
  if (!embedding || !head)
    return false;
  std::vector<char> own[2];
  return embedding.getType() != head.getType() ||
         bytesOf(embedding, own[0]) != bytesOf(head, own[1]);
}

Type FolderWeights::embeddingType() const {
  ElementsAttr value = tensors.find(nameOf({Part::embedding}));
  Type type = value ? value.getElementType() : Type();
  if (type && (type.isF32() || type.isF16() || type.isBF16()))
    return type;
  return type ? Type(BFloat16Type::get(&context))
              : Type(Float32Type::get(&context));
}
