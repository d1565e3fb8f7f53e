//===- TrainingFile.cpp - Read the file of --train ------------------------===//

#include "compiler/driver/options/TrainingFile.h"

#include "compiler/driver/ModelInput.h"
#include "compiler/json/Parse.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/GlobPattern.h"

using namespace frit;
using Json = nlohmann::ordered_json;

namespace {
/// An object of the file, and the keys that have been asked for. The first
/// error stays.
class Reader {
public:
  Reader(const Json &object, std::string place, std::string &error)
      : object(object), place(std::move(place)), error(error) {
    if (!object.is_object())
      fail("", "must be an object");
  }
  Reader(const Reader &) = delete;
  /// Complains of keys that nobody asked for.
  ~Reader() {
    if (!object.is_object())
      return;
    for (const auto &item : object.items())
      if (!llvm::is_contained(known, item.key()))
        fail(item.key(), "is unknown; known here: " + llvm::join(known, ", "));
  }

  const Json *find(const char *key) {
    known.push_back(key);
    auto it = object.find(key);
    return it == object.end() ? nullptr : &*it;
  }
  std::string placeOf(llvm::StringRef key) const {
    return place.empty() ? key.str()
           : key.empty() ? place
                         : place + "." + key.str();
  }
  void fail(llvm::StringRef key, const llvm::Twine &why) {
    if (error.empty())
      error = ("'" + placeOf(key) + "' " + why).str();
  }

  void number(const char *key, double &value, double least,
              double most = 1e30) {
    const Json *found = find(key);
    if (!found)
      return;
    double given = found->is_number() ? found->get<double>() : least - 1;
    if (given < least || given > most)
      return fail(
          key, most < 1e30
                   ? llvm::formatv("must be a number from {0:f0} to {1:f0}",
                                   least, most)
                         .str()
                   : llvm::formatv("must be a number of at least {0:f0}", least)
                         .str());
    value = given;
  }
  void integer(const char *key, int64_t &value, int64_t least) {
    const Json *found = find(key);
    if (!found)
      return;
    if (!found->is_number_integer() || found->get<int64_t>() < least)
      return fail(key, "must be an integer of at least " + llvm::Twine(least));
    value = found->get<int64_t>();
  }
  void boolean(const char *key, bool &value) {
    if (const Json *found = find(key)) {
      if (!found->is_boolean())
        return fail(key, "must be true or false");
      value = found->get<bool>();
    }
  }
  void text(const char *key, std::string &value) {
    if (const Json *found = find(key)) {
      if (!found->is_string())
        return fail(key, "must be a string");
      value = found->get<std::string>();
    }
  }
  void patterns(const char *key, std::vector<std::string> &values) {
    const Json *found = find(key);
    if (!found)
      return;
    auto isPattern = [](const Json &item) {
      if (!item.is_string())
        return false;
      auto glob =
          llvm::GlobPattern::create(item.get_ref<const std::string &>());
      bool fine = bool(glob);
      llvm::consumeError(glob.takeError());
      return fine;
    };
    if (!found->is_array() || !llvm::all_of(*found, isPattern))
      return fail(key,
                  "must be a list of names or patterns such as \"*.bias\"");
    for (const Json &item : *found)
      values.push_back(item.get<std::string>());
  }
  /// A list of objects.
  void each(const char *key,
            llvm::function_ref<void(const Json &, llvm::StringRef)> read) {
    const Json *found = find(key);
    if (!found)
      return;
    if (!found->is_array())
      return fail(key, "must be a list of objects");
    for (size_t i = 0; i < found->size(); ++i)
      read((*found)[i], placeOf(key) + "[" + std::to_string(i) + "]");
  }
  /// One of several names, which must be there.
  template <typename Enum>
  void choice(const char *key, Enum &value,
              llvm::ArrayRef<std::pair<const char *, Enum>> choices) {
    const Json *found = find(key);
    std::string names;
    for (auto [name, meaning] : choices) {
      if (found && found->is_string() &&
          found->get_ref<const std::string &>() == name) {
        value = meaning;
        return;
      }
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    fail(key, "must be one of: " + names);
  }

private:
  const Json &object;
  std::string place;
  std::string &error;
  std::vector<std::string> known;
};
} // namespace

static void readLoss(const Json &json, LossOptions &loss, std::string &error) {
  Reader in(json, "loss", error);
  in.choice<LossKind>("kind", loss.kind,
                      {{"cross_entropy", LossKind::crossEntropy},
                       {"mse", LossKind::mse},
                       {"bce_with_logits", LossKind::bceWithLogits}});
  in.text("output", loss.output);
  loss.target = loss.kind == LossKind::crossEntropy ? "labels" : "target";
  in.text("target", loss.target);
  if (loss.kind != LossKind::crossEntropy)
    return;
  in.integer("axis", loss.axis, INT64_MIN);
  in.integer("ignore_index", loss.ignoreIndex, INT64_MIN);
  in.number("label_smoothing", loss.labelSmoothing, 0, 1);
}

static void readOptimizer(const Json &json, OptimizerOptions &optimizer,
                          std::string &error) {
  Reader in(json, "optimizer", error);
  in.choice<OptimizerKind>("kind", optimizer.kind,
                           {{"sgd", OptimizerKind::sgd},
                            {"adam", OptimizerKind::adam},
                            {"adamw", OptimizerKind::adamw},
                            {"lamb", OptimizerKind::lamb}});
  in.number("learning_rate", optimizer.learningRate, 0);
  in.number("weight_decay", optimizer.weightDecay, 0);
  in.patterns("no_decay", optimizer.noDecay);
  if (optimizer.kind == OptimizerKind::sgd) {
    in.number("momentum", optimizer.momentum, 0, 1);
    in.boolean("nesterov", optimizer.nesterov);
    return;
  }
  if (optimizer.kind == OptimizerKind::lamb)
    optimizer.epsilon = 1e-6;
  in.number("epsilon", optimizer.epsilon, 0);
  in.number("beta1", optimizer.beta1, 0, 1);
  in.number("beta2", optimizer.beta2, 0, 1);
}

static void readLossScale(const Json &json, LossScaleOptions &scale,
                          std::string &error) {
  Reader in(json, "loss_scale", error);
  in.number("initial", scale.initial, 1);
  in.number("growth", scale.growth, 1);
  in.number("backoff", scale.backoff, 0, 1);
  in.integer("interval", scale.growthInterval, 1);
}

static void readDropout(const Json &json, llvm::StringRef place,
                        DropoutOptions &dropout, std::string &error) {
  Reader in(json, place.str(), error);
  in.patterns("after", dropout.after);
  if (dropout.after.empty())
    in.fail("after", "must name a value or node");
  in.number("rate", dropout.rate, 0, 1);
  if (dropout.rate == 1)
    in.fail("rate", "must be less than 1");
}

static void readAll(const Json &json, TrainingOptions &options,
                    std::string &error) {
  Reader in(json, "", error);
  if (const Json *loss = in.find("loss"))
    readLoss(*loss, options.loss, error);
  else
    in.fail("loss", "is missing");
  if (const Json *optimizer = in.find("optimizer"))
    readOptimizer(*optimizer, options.optimizer, error);
  else
    in.fail("optimizer", "is missing");
  if (const Json *scale = in.find("loss_scale"))
    readLossScale(*scale, options.lossScale, error);
  in.each("dropout", [&](const Json &item, llvm::StringRef place) {
    readDropout(item, place, options.dropout.emplace_back(), error);
  });
  in.patterns("train", options.train);
  in.patterns("freeze", options.freeze);
  if (const Json *recompute = in.find("recompute")) {
    if (*recompute == "none")
      options.recomputesToFit = false;
    else if (recompute->is_array())
      in.patterns("recompute", options.recompute);
    else if (*recompute != "auto")
      in.fail("recompute", "must be none, auto, or a list of nodes' names or "
                           "patterns");
  }
  in.number("clip_norm", options.clipNorm, 0);
  in.integer("accumulate", options.accumulate, 1);
  in.integer("batch", options.batch, 1);
  if (options.batch && json.contains("accumulate"))
    in.fail("accumulate", "follows from 'batch', which is there too");
  in.number("batch_norm_momentum", options.batchNormMomentum, 0, 1);
}

llvm::Expected<TrainingOptions> frit::readTrainingFile(llvm::StringRef path) {
  auto file = readModel(path.str());
  if (!file)
    return file.takeError();
  llvm::StringRef text = (*file)->getBuffer();
  auto fail = [&](const llvm::Twine &why) {
    return llvm::createStringError(path + ": " + why);
  };
  Json json = importer::parseJson(text);
  if (json.is_discarded())
    return fail(importer::whyDiscarded(text));
  TrainingOptions options;
  std::string error;
  readAll(json, options, error);
  if (!error.empty())
    return fail(error);
  return options;
}
