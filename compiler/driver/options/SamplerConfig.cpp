//===- SamplerConfig.cpp - Samplers as diffusers saves them ---------------===//
//
// scheduler_config.json has the arguments of a scheduler's constructor; those
// left out have its defaults. Each is a setting of --sampler, or has to have
// the value that stands for what frit does.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/options/SamplerConfig.h"

#include "compiler/driver/ModelInput.h"
#include "compiler/json/Parse.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace frit;
using Json = nlohmann::ordered_json;
using llvm::StringRef;

namespace {
/// A field of a configuration: a setting, or a value that it has to have.
struct Field {
  StringRef name;
  StringRef setting;    ///< empty: the field has to have the default
  const char *fallback; ///< JSON, if it is left out
  /// Words of the file and of the setting: "epsilon=noise,…"; empty: as it is.
  StringRef words = "";
};

struct Scheduler {
  StringRef className, method;
  llvm::ArrayRef<Field> fields;
};
} // namespace

static constexpr StringRef kPredictions =
    "epsilon=noise,v_prediction=velocity,sample=sample";
static constexpr StringRef kBetas = "linear=linear,scaled_linear=scaled";
static constexpr StringRef kSpacings =
    "leading=leading,linspace=linspace,trailing=trailing";

// The fields that all schedulers of diffusion have.
#define FRIT_BETAS                                                             \
  {"num_train_timesteps", "train-steps", "1000"},                              \
      {"beta_start", "beta-start", "0.0001"},                                  \
      {"beta_end", "beta-end", "0.02"},                                        \
      {"beta_schedule", "betas", "\"linear\"", kBetas},                        \
      {"trained_betas", "", "null"},                                           \
      {"prediction_type", "predicts", "\"epsilon\"", kPredictions},            \
      {"steps_offset", "offset", "0"}, {"rescale_betas_zero_snr", "", "false"}

static constexpr Field kDdim[] = {
    FRIT_BETAS,
    {"timestep_spacing", "spacing", "\"leading\"", kSpacings},
    {"set_alpha_to_one", "ends", "true", "true=one,false=first"},
    {"thresholding", "", "false"},
};
static constexpr Field kEuler[] = {
    FRIT_BETAS,
    {"timestep_spacing", "spacing", "\"linspace\"", kSpacings},
    {"interpolation_type", "", "\"linear\""},
    {"use_karras_sigmas", "", "false"},
    {"use_exponential_sigmas", "", "false"},
    {"use_beta_sigmas", "", "false"},
    {"sigma_min", "", "null"},
    {"sigma_max", "", "null"},
    {"timestep_type", "", "\"discrete\""},
    {"final_sigmas_type", "", "\"zero\""},
};
static constexpr Field kDpm[] = {
    FRIT_BETAS,
    {"timestep_spacing", "spacing", "\"linspace\"", kSpacings},
    {"solver_order", "", "2"},
    {"algorithm_type", "", "\"dpmsolver++\""},
    {"solver_type", "solver", "\"midpoint\"", "midpoint=midpoint,heun=heun"},
    {"final_sigmas_type", "ends", "\"zero\"", "zero=one,sigma_min=first"},
    {"lower_order_final", "", "true"},
    {"euler_at_final", "", "false"},
    {"thresholding", "", "false"},
    {"use_karras_sigmas", "", "false"},
    {"use_exponential_sigmas", "", "false"},
    {"use_beta_sigmas", "", "false"},
    {"use_lu_lambdas", "", "false"},
    {"use_flow_sigmas", "", "false"},
    {"variance_type", "", "null"},
};
static constexpr Field kFlow[] = {
    {"num_train_timesteps", "train-steps", "1000"},
    {"shift", "shift", "1.0"},
    {"use_dynamic_shifting", "", "false"},
    {"invert_sigmas", "", "false"},
    {"shift_terminal", "", "null"},
    {"use_karras_sigmas", "", "false"},
    {"use_exponential_sigmas", "", "false"},
    {"use_beta_sigmas", "", "false"},
    {"stochastic_sampling", "", "false"},
};
#undef FRIT_BETAS

static constexpr Scheduler kSchedulers[] = {
    {"DDIMScheduler", "ddim", kDdim},
    {"EulerDiscreteScheduler", "euler", kEuler},
    {"DPMSolverMultistepScheduler", "dpm", kDpm},
    {"FlowMatchEulerDiscreteScheduler", "flow", kFlow},
};

/// Fields that change nothing where those above have their values.
static constexpr StringRef kIdle[] = {"dynamic_thresholding_ratio",
                                      "sample_max_value",
                                      "base_shift",
                                      "max_shift",
                                      "base_image_seq_len",
                                      "max_image_seq_len",
                                      "time_shift_type",
                                      "skip_prk_steps",
                                      "flow_shift"};

/// Returns the setting for a field's value; an error if there is none.
static llvm::Expected<std::string> settingOf(const Field &field,
                                             const Json &value) {
  std::string text =
      value.is_string() ? value.get<std::string>() : value.dump();
  auto fail = [&](const llvm::Twine &expected) {
    return llvm::createStringError("\"" + field.name + "\" is " + value.dump() +
                                   "; " + expected + " is supported");
  };
  if (field.setting.empty()) {
    if (value == Json::parse(field.fallback))
      return std::string();
    return fail(field.fallback);
  }
  if (field.words.empty()) {
    if (value.is_number())
      return (field.setting + "=" + text).str();
    return fail("a number");
  }
  std::string all;
  llvm::SmallVector<StringRef> pairs;
  field.words.split(pairs, ',');
  for (StringRef pair : pairs) {
    auto [word, setting] = pair.split('=');
    if (word == text)
      return (field.setting + "=" + setting).str();
    all += (all.empty() ? "" : " or ") + word.str();
  }
  return fail(all);
}

/// Returns the limit of DDIM's clean samples, as a setting.
static llvm::Expected<std::string> clipOf(const Json &file) {
  Json clips = file.value("clip_sample", Json(true)),
       range = file.value("clip_sample_range", Json(1.0));
  if (!clips.is_boolean() || !range.is_number())
    return llvm::createStringError(
        "\"clip_sample\" is true or false, and \"clip_sample_range\" a number");
  return clips.get<bool>() ? "clip=" + range.dump() : std::string();
}

llvm::Expected<std::string> frit::readSamplerConfig(const std::string &path,
                                                    StringRef settings) {
  auto bytes = readFile(path);
  if (!bytes)
    return bytes.takeError();
  auto fail = [&](const llvm::Twine &why) {
    return llvm::createStringError(path + ": " + why);
  };
  StringRef text = (*bytes)->getBuffer();
  Json file = importer::parseJson(text);
  if (!file.is_object())
    return fail(file.is_discarded() ? importer::whyDiscarded(text)
                                    : "is no object of a scheduler");
  Json name = file.value("_class_name", Json());
  const auto *found = llvm::find_if(kSchedulers, [&](const Scheduler &one) {
    return name.is_string() && name.get<std::string>() == one.className;
  });
  if (found == std::end(kSchedulers))
    return fail("\"_class_name\" is " + name.dump() +
                "; there are DDIMScheduler, EulerDiscreteScheduler, "
                "DPMSolverMultistepScheduler and "
                "FlowMatchEulerDiscreteScheduler");
  bool isDdim = found->method == "ddim";
  std::string result;
  auto add = [&](llvm::Expected<std::string> setting) -> llvm::Error {
    if (!setting)
      return fail(llvm::toString(setting.takeError()));
    if (!setting->empty())
      result += (result.empty() ? "" : ",") + *setting;
    return llvm::Error::success();
  };
  for (const auto &[key, value] : file.items()) {
    bool isKnown =
        StringRef(key).starts_with("_") || llvm::is_contained(kIdle, key) ||
        llvm::any_of(found->fields,
                     [&](const Field &field) { return field.name == key; });
    bool isClip = key == "clip_sample" || key == "clip_sample_range";
    // Files of one scheduler have fields of others, which it ignores.
    bool isIgnored =
        isClip || key == "set_alpha_to_one" || key == "lambda_min_clipped";
    if (!isKnown && !isIgnored)
      return fail("\"" + key + "\" is no field of a " + found->className +
                  " that is supported");
  }
  for (const Field &field : found->fields) {
    auto value = file.find(field.name.str());
    if (llvm::Error error = add(settingOf(
            field, value == file.end() ? Json::parse(field.fallback) : *value)))
      return std::move(error);
  }
  if (isDdim)
    if (llvm::Error error = add(clipOf(file)))
      return std::move(error);
  return (found->method + ":" + result + (settings.empty() ? "" : ",") +
          settings)
      .str();
}
