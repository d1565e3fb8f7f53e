//===- TrainingFile.cpp - Read the file of --train ------------------------===//

#include "compiler/driver/options/TrainingFile.h"

#include "compiler/driver/options/JsonObject.h"

#include "llvm/ADT/StringSet.h"

using namespace frit;
using Json = nlohmann::ordered_json;

static void readLoss(JsonObject &in, LossOptions &loss) {
  in.choice<LossKind>("kind", loss.kind,
                      {{"cross_entropy", LossKind::crossEntropy},
                       {"mse", LossKind::mse},
                       {"bce_with_logits", LossKind::bceWithLogits},
                       {"output", LossKind::output}});
  in.text("output", loss.output);
  if (in.find("mean"))
    in.choice<LossMean>("mean", loss.mean,
                        {{"all", LossMean::all}, {"call", LossMean::call}});
  if (loss.kind == LossKind::output) {
    in.text("count", loss.count);
    return;
  }
  loss.target = loss.kind == LossKind::crossEntropy ? "labels" : "target";
  in.neededText("target", loss.target);
  if (loss.kind != LossKind::crossEntropy)
    return;
  in.integer("axis", loss.axis, INT64_MIN);
  in.integer("ignore_index", loss.ignoreIndex, INT64_MIN);
  in.number("label_smoothing", loss.labelSmoothing, 0, 1);
  in.numbers("class_weights", loss.classWeights);
}

/// Reads a list of losses, which have names and are added by their weights.
static void readLosses(JsonObject &all, std::vector<LossOptions> &losses,
                       FirstError &error) {
  losses.clear();
  llvm::StringSet<> names = {"loss", "loss_count", "gradient_norm"};
  all.each("loss", [&](const Json &item, llvm::StringRef place) {
    LossOptions &loss = losses.emplace_back();
    JsonObject in(item, place.str(), error);
    in.neededText("name", loss.name);
    in.number("weight", loss.weight, 0);
    if (!names.insert(loss.name).second)
      in.fail("name", "is that of another output of the step");
    readLoss(in, loss);
  });
  if (losses.empty())
    all.fail("loss", "must have a loss");
}

static void readGroup(const Json &json, std::string place,
                      ParameterGroup &group, FirstError &error) {
  JsonObject in(json, std::move(place), error);
  in.patterns("match", group.match);
  if (group.match.empty())
    in.fail("match", "must name a weight");
  in.number("learning_rate_factor", group.rateFactor, 0);
  if (in.find("weight_decay"))
    in.number("weight_decay", group.weightDecay.emplace(), 0);
}

static void readOptimizer(const Json &json, OptimizerOptions &optimizer,
                          FirstError &error) {
  JsonObject in(json, "optimizer", error);
  in.choice<OptimizerKind>("kind", optimizer.kind,
                           {{"sgd", OptimizerKind::sgd},
                            {"adam", OptimizerKind::adam},
                            {"adamw", OptimizerKind::adamw},
                            {"lamb", OptimizerKind::lamb}});
  in.number("learning_rate", optimizer.learningRate, 0);
  in.number("weight_decay", optimizer.weightDecay, 0);
  if (in.find("moments"))
    in.choice<bool>("moments", optimizer.byteMoments,
                    {{"f32", false}, {"int8", true}});
  in.patterns("no_decay", optimizer.noDecay);
  in.each("groups", [&](const Json &item, llvm::StringRef place) {
    readGroup(item, place.str(), optimizer.groups.emplace_back(), error);
  });
  if (optimizer.kind == OptimizerKind::sgd) {
    in.number("momentum", optimizer.momentum, 0, 1);
    in.boolean("nesterov", optimizer.nesterov);
    return;
  }
  if (optimizer.kind == OptimizerKind::lamb)
    optimizer.epsilon = 1e-6;
  in.number("epsilon", optimizer.epsilon, 0);
  in.fraction("beta1", optimizer.beta1);
  in.fraction("beta2", optimizer.beta2);
}

static void readLossScale(const Json &json, LossScaleOptions &scale,
                          FirstError &error) {
  JsonObject in(json, "loss_scale", error);
  in.number("initial", scale.initial, 1);
  in.number("growth", scale.growth, 1);
  in.fraction("backoff", scale.backoff);
  if (scale.backoff == 0)
    in.fail("backoff", "must be more than 0");
  in.integer("interval", scale.growthInterval, 1);
}

static void readAverage(const Json &json, double &decay, FirstError &error) {
  JsonObject in(json, "ema", error);
  decay = 0.999;
  in.fraction("decay", decay);
  if (decay == 0)
    in.fail("decay", "must be more than 0");
}

static void readDropout(const Json &json, llvm::StringRef place,
                        DropoutOptions &dropout, FirstError &error) {
  JsonObject in(json, place.str(), error);
  in.patterns("after", dropout.after);
  if (dropout.after.empty())
    in.fail("after", "must name a value or node");
  in.number("rate", dropout.rate, 0, 1);
}

static void readAugment(const Json &json, llvm::StringRef place,
                        AugmentOptions &augment, FirstError &error) {
  JsonObject in(json, place.str(), error);
  in.neededText("input", augment.input);
  in.integer("height", augment.height, 1);
  in.integer("width", augment.width, 1);
  in.integer("padding", augment.padding, 0);
  in.number("flip", augment.flip, 0, 1);
  in.numbers("mean", augment.mean);
  in.numbers("std", augment.deviation);
  if (llvm::is_contained(augment.deviation, 0))
    in.fail("std", "must be a list of numbers above 0");
}

static void readAll(const Json &json, TrainingOptions &options,
                    FirstError &error) {
  JsonObject in(json, "", error);
  const Json *loss = in.find("loss");
  if (loss && loss->is_array()) {
    readLosses(in, options.losses, error);
  } else if (loss) {
    JsonObject only(*loss, "loss", error);
    readLoss(only, options.losses[0]);
  } else {
    in.fail("loss", "is missing");
  }
  if (const Json *optimizer = in.find("optimizer"))
    readOptimizer(*optimizer, options.optimizer, error);
  else
    in.fail("optimizer", "is missing");
  if (const Json *scale = in.find("loss_scale"))
    readLossScale(*scale, options.lossScale, error);
  in.each("dropout", [&](const Json &item, llvm::StringRef place) {
    readDropout(item, place, options.dropout.emplace_back(), error);
  });
  in.each("augment", [&](const Json &item, llvm::StringRef place) {
    readAugment(item, place, options.augment.emplace_back(), error);
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
  in.number("clip_value", options.clipValue, 0);
  if (options.clipNorm > 0 && options.clipValue > 0)
    in.fail("clip_value", "is not used together with 'clip_norm'");
  if (const Json *ema = in.find("ema"))
    readAverage(*ema, options.emaDecay, error);
  in.integer("accumulate", options.accumulate, 1);
  in.integer("batch", options.batch, 1);
  if (options.batch && json.contains("accumulate"))
    in.fail("accumulate", "follows from 'batch', which is there too");
  if (in.find("batch_norm_momentum"))
    in.number("batch_norm_momentum", options.batchNormMomentum.emplace(), 0, 1);
}

llvm::Expected<TrainingOptions> frit::readTrainingFile(llvm::StringRef path) {
  TrainingOptions options;
  options.file = path;
  if (llvm::Error e =
          readJsonFile(path, [&](const Json &json, FirstError &error) {
            readAll(json, options, error);
          }))
    return e;
  return options;
}
