//===- ForeignFormats.cpp - Files that are no ONNX models -----------------===//

#include "compiler/driver/ForeignFormats.h"

#include "compiler/import/LfsPointer.h"
#include "compiler/support/Npy.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

//===----------------------------------------------------------------------===//
// Ways to ONNX
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kFromPyTorch =
    "in PyTorch, torch.onnx.export(model, (x,), \"model.onnx\", dynamo=True) "
    "writes ONNX";
static constexpr StringLiteral kFromHuggingFace =
    "`optimum-cli export onnx --model NAME-OR-FOLDER out/` writes ONNX, as "
    "does "
    "torch.onnx.export of the model that transformers loads";
static constexpr StringLiteral kFromKeras =
    "in Keras 3, model.export(\"model.onnx\", format=\"onnx\") writes ONNX";

/// Returns the way from a format that tf2onnx reads.
static std::string fromTensorFlow(StringRef option, StringRef path) {
  return ("`python -m tf2onnx.convert --" + option + " " + path +
          " --output model.onnx` writes ONNX")
      .str();
}

//===----------------------------------------------------------------------===//
// Archives
//===----------------------------------------------------------------------===//

/// Describes a ZIP archive by the names of its files.
static std::string describeZip(StringRef content) {
  // Names are in the directory at the end, and before each file.
  auto has = [&](StringRef name) { return content.contains(name); };
  if (has("constants.pkl") && has("/code/"))
    return "is a TorchScript program; torch.onnx.export(torch.jit.load(FILE), "
           "(x,), \"model.onnx\") in PyTorch writes ONNX";
  if (has("serialized_exported_program.json") || has("archive_format") ||
      has("/models/model.json"))
    return "is a program of torch.export (.pt2); "
           "torch.onnx.export(torch.export.load(FILE), f=\"model.onnx\", "
           "dynamo=True) in PyTorch writes ONNX";
  if (has("data.pkl"))
    return ("is a checkpoint of torch.save, which has weights and no graph; " +
            kFromPyTorch)
        .str();
  if (has("model.weights.h5"))
    return ("is a Keras model; " + kFromKeras).str();
  if (has(".npy"))
    return "has arrays of NumPy and no graph; fritc takes an ONNX model";
  return "is a ZIP archive; unpack it and give the .onnx file in it";
}

//===----------------------------------------------------------------------===//
// Contents
//===----------------------------------------------------------------------===//

static bool isSafetensors(StringRef content) {
  return content.size() > 9 && content[8] == '{' &&
         support::endian::read64le(content.data()) <= content.size() - 8;
}

/// Returns whether a file begins as a pickle of Python does.
static bool isPickle(StringRef content) {
  return content.size() > 2 && content[0] == '\x80' && content[1] >= 2 &&
         content[1] <= 5;
}

/// Describes a file of text; "" if it may be a graph for frit.
static std::string describeText(StringRef content) {
  StringRef text = content.take_front(4096).ltrim();
  if (frit::importer::isLfsPointer(text))
    return frit::importer::kLfsPointer.str();
  if (text.starts_with_insensitive("<!doctype html") ||
      text.starts_with_insensitive("<html"))
    return "is a web page (HTML) in place of the file; download the file "
           "itself, by a link with \"resolve\" on Hugging Face and \"raw\" on "
           "GitHub";
  if (text.starts_with("<?xml") && content.contains("<net "))
    return "is an OpenVINO model (IR); compile the ONNX model that it was "
           "converted from";
  bool isJson = text.starts_with("{");
  if (isJson && !content.contains("\"frit\"") &&
      (content.contains("\"architectures\"") ||
       content.contains("\"model_type\"") ||
       content.contains("\"weight_map\"")))
    return ("describes a Hugging Face model and has no graph; " +
            kFromHuggingFace)
        .str();
  return "";
}

/// Returns whether a file is a graph of TensorFlow. An ONNX model does not
/// begin with a message.
static bool isGraphDef(StringRef content) {
  return content.starts_with("\x0a") &&
         (content.contains("Placeholder") || content.contains("NoOp") ||
          content.contains("Const"));
}

std::string frit::describeForeignFile(StringRef path, StringRef content) {
  StringRef name = sys::path::filename(path);
  if (content.empty())
    return "the file is empty: was it downloaded to the end?";
  if (isSafetensors(content))
    return ("has weights (safetensors) and no graph; " + kFromHuggingFace)
        .str();
  if (content.starts_with("GGUF") || content.starts_with("lmgg") ||
      content.starts_with("tjgg"))
    return ("has the weights of a language model for llama.cpp (GGUF) and no "
            "graph; of the model that it was made from, " +
            kFromHuggingFace)
        .str();
  if (content.starts_with("PK\x03\x04") || content.starts_with("PK\x05\x06"))
    return describeZip(content);
  if (isPickle(content))
    return ("is a pickle of Python, which has weights or objects and no "
            "graph; " +
            kFromPyTorch + ", and skl2onnx.to_onnx that of scikit-learn")
        .str();
  if (content.starts_with("\x89HDF\r\n"))
    return ("is an HDF5 file, as older versions of Keras write; " + kFromKeras)
        .str();
  if (content.substr(4, 4) == "TFL3")
    return "is a TensorFlow Lite model; " + fromTensorFlow("tflite", path);
  if (content.starts_with("ptrt") || content.starts_with("ftrt"))
    return "is an engine of TensorRT, for one kind of GPU; compile the ONNX "
           "model that it was built from";
  if (content.starts_with(kNpyMagic))
    return "has an array of NumPy and no graph; fritc takes an ONNX model";
  if (content.starts_with("\x7f"
                          "ELF"))
    return "is compiled; frit-run runs what fritc compiled";
  if (content.starts_with("\x1f\x8b"))
    return "is compressed (gzip); unpack it and give the .onnx file in it";
  if (name == "saved_model.pb")
    return "is a SavedModel of TensorFlow; " +
           fromTensorFlow("saved-model", "FOLDER");
  if (isGraphDef(content))
    return "is a graph of TensorFlow; " + fromTensorFlow("graphdef", path);
  if (name.ends_with(".mlmodel"))
    return "is a Core ML model; export the model that it was converted from "
           "to ONNX";
  return describeText(content);
}

//===----------------------------------------------------------------------===//
// Folders
//===----------------------------------------------------------------------===//

std::string frit::describeForeignFolder(StringRef path) {
  auto has = [&](StringRef name) {
    SmallString<128> file(path);
    sys::path::append(file, name);
    return sys::fs::exists(file);
  };
  if (has("saved_model.pb"))
    return "is a SavedModel of TensorFlow; " +
           fromTensorFlow("saved-model", path);
  if (path.rtrim('/').ends_with(".mlpackage"))
    return "is a Core ML model; export the model that it was converted from "
           "to ONNX";
  std::error_code error;
  std::string models;
  for (sys::fs::directory_iterator file(path, error), end;
       !error && file != end; file.increment(error))
    if (StringRef(file->path()).ends_with(".onnx"))
      models = std::max(models, file->path());
  if (!models.empty())
    return "is a folder; give the model in it, such as '" + models + "'";
  bool hasPickle =
      has("pytorch_model.bin") || has("pytorch_model.bin.index.json");
  if (has("config.json") && hasPickle)
    return ("has weights as pickles of Python and none as safetensors, which "
            "model.save_pretrained(FOLDER) of transformers writes; of models "
            "without a family that frit knows, " +
            kFromHuggingFace)
        .str();
  if (has("config.json"))
    return ("is the folder of a Hugging Face model, without a graph; " +
            kFromHuggingFace)
        .str();
  if (has("model.safetensors") || has("model.safetensors.index.json"))
    return "has weights, but no config.json, which says what they are for";
  return "is a folder; give the .onnx file";
}
