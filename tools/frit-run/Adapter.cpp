//===- Adapter.cpp - Load an adapter of low rank --------------------------===//

#include "Adapter.h"
#include "tools/support/Files.h"
#include "tools/support/Mapped.h"
#include "tools/tokenizer/Json.h"

#include <cmath>

using namespace frit::run;
using namespace frit::tools;
using JsonValue = frit::tokenizer::Json;

namespace {
/// adapter_config.json, as far as it says what the matrices mean.
struct AdapterConfig {
  double alpha = 0, rank = 0;
  bool takesRoot = false; ///< the scale is alpha / √rank
};
} // namespace

static Fault readConfig(const std::string &path, AdapterConfig &config) {
  Bytes bytes;
  std::shared_ptr<const void> owner;
  if (Fault fault = mapFile(path, bytes, owner))
    return fault;
  JsonValue json;
  if (Fault fault = frit::tokenizer::parseJson(bytes, json))
    return Fault(path + ": " + fault.message());
  auto member = [&](const char *name) {
    return json.is_object() && json.contains(name) ? json[name] : JsonValue();
  };
  if (member("peft_type") != JsonValue("LORA"))
    return Fault(path + ": \"peft_type\" is not \"LORA\", the kind of adapter "
                        "that sessions load");
  for (const char *name :
       {"use_dora", "modules_to_save", "layer_replication", "lora_bias",
        "trainable_token_indices", "target_parameters", "rank_pattern",
        "alpha_pattern", "alora_invocation_tokens", "arrow_config",
        "kasa_config", "monteclora_config", "use_bdlora", "use_qalora"}) {
    JsonValue value = member(name);
    if (!value.is_null() && value != JsonValue(false) && !value.empty())
      return Fault(path + ": \"" + name + "\" is not supported here");
  }
  if (JsonValue bias = member("bias");
      !bias.is_null() && bias != JsonValue("none"))
    return Fault(path + ": \"bias\" is not \"none\"");
  // Ways to begin training that leave the model's own weights as they are.
  if (JsonValue beginning = member("init_lora_weights");
      beginning.is_string() && beginning != JsonValue("gaussian") &&
      beginning != JsonValue("eva") && beginning != JsonValue("orthogonal") &&
      beginning != JsonValue("mica"))
    return Fault(path + ": \"init_lora_weights\" is " + beginning.dump() +
                 ", which changes the weights of the model itself");
  for (auto [name, to] :
       {std::pair("r", &config.rank), std::pair("lora_alpha", &config.alpha)}) {
    JsonValue value = member(name);
    if (!value.is_number() || !std::isfinite(value.get<double>()))
      return Fault(path + ": \"" + name + "\" is no number");
    *to = value.get<double>();
  }
  if (config.rank < 1)
    return Fault(path + ": \"r\" is not positive");
  config.takesRoot = member("use_rslora") == JsonValue(true);
  return Fault();
}

/// Returns the name of a model's state for a tensor of an adapter; empty if it
/// is no matrix of low rank.
static std::string stateName(std::string name) {
  for (std::string prefix : {"base_model.model.", "language_model.model.",
                             "model.language_model.", "transformer.", "model."})
    if (name.starts_with(prefix)) {
      name.erase(0, prefix.size());
      if (prefix != "base_model.model.")
        break;
    }
  if (!name.ends_with(".weight"))
    return "";
  name.erase(name.size() - 7);
  return name.ends_with(".lora_A") || name.ends_with(".lora_B") ? name : "";
}

Fault frit::run::loadAdapter(const std::string &folder, frit_session *session) {
  AdapterConfig config;
  if (Fault fault = readConfig(folder + "/adapter_config.json", config))
    return fault;
  std::string file = folder + "/adapter_model.safetensors";
  std::vector<Tensor> read;
  if (Fault fault = readTensors(file, read))
    return fault;
  std::vector<std::string> names;
  std::vector<std::vector<float>> values;
  for (const Tensor &tensor : read) {
    names.push_back(stateName(tensor.name));
    if (names.back().empty())
      return Fault(file + ": tensor '" + tensor.name +
                   "' is no matrix of an adapter of low rank");
    std::vector<float> &own = values.emplace_back(tensor.count());
    for (size_t i = 0; i < own.size(); ++i)
      own[i] = float(tensor.at(i));
  }
  std::vector<frit_tensor> tensors;
  for (size_t i = 0; i < read.size(); ++i)
    tensors.push_back({names[i].c_str(), values[i].data(), FRIT_F32,
                       uint32_t(read[i].dims.size()), read[i].dims.data(),
                       FRIT_HOST});
  double scale =
      config.alpha / (config.takesRoot ? std::sqrt(config.rank) : config.rank);
  if (frit_session_adapt(session, tensors.data(), uint32_t(tensors.size()),
                         float(scale)) != FRIT_OK)
    return Fault(folder + ": " + frit_last_error());
  return Fault();
}
