//===- QuantizationOptions.cpp - Options of -fquantize --------------------===//

#include "compiler/driver/options/CommandLine.h"

using namespace frit;
using llvm::opt::Arg;

/// Checks the options of -fweights with --calibrate.
bool CommandLine::readSearch() {
  if (args.hasArg(OPT_calibrator_EQ, OPT_scales_EQ, OPT_max_error_EQ,
                  OPT_smooth_EQ))
    return wrong("--calibrator, --scales, --max-error and --smooth are used "
                 "with -fquantize=int8");
  if (options.sparsity == Sparsity::pruned)
    return wrong("-fsparse=2:4:magnitude is not used with -fweights and "
                 "--calibrate, which searches codes of the dense weights");
  if (options.quantization.data.empty())
    return wrong("--calibrate takes a file or a folder of inputs of the model");
  if (options.inputs.size() > 1)
    return wrong("-fweights with --calibrate takes one model");
  if (options.emit == Emit::nn || options.emit == Emit::json)
    return wrong("--emit=nn and json end before -fweights");
  return true;
}

bool CommandLine::readQuantization() {
  QuantizationOptions &read = options.quantization;
  auto format = chosen(OPT_fquantize_EQ, "");
  auto calibrator = chosen(OPT_calibrator_EQ, "max");
  if (!format || !calibrator)
    return false;
  read.format = format->str();
  read.data = args.getLastArgValue(OPT_calibrate_EQ).str();
  read.scales = args.getLastArgValue(OPT_scales_EQ).str();
  read.calibrator = *calibrator == "entropy"      ? Calibrator::entropy
                    : *calibrator == "percentile" ? Calibrator::percentile
                                                  : Calibrator::max;
  std::optional<double> smooth;
  if (!readNumber(OPT_max_error_EQ, "--max-error", 0, 1000, read.maxError) ||
      !readNumber(OPT_smooth_EQ, "--smooth", 0, 1, smooth))
    return false;
  // Floats are as precise in small columns as in large ones.
  read.smooth = smooth.value_or(read.hasFloats() ? 0 : read.smooth);
  read.hostArch = hostArch().str();
  const Arg *used =
      args.getLastArg(OPT_calibrate_EQ, OPT_calibrator_EQ, OPT_scales_EQ,
                      OPT_max_error_EQ, OPT_smooth_EQ);
  if (read.format.empty() && !options.weights.empty() &&
      args.hasArg(OPT_calibrate_EQ))
    return readSearch();
  if (read.format.empty())
    return !used ||
           wrong(used->getSpelling().rtrim('=') + " is used with -fquantize" +
                 (used->getOption().matches(OPT_calibrate_EQ) ? " or -fweights"
                                                              : ""));
  if (read.hasFloats() && read.calibrator == Calibrator::entropy)
    return wrong("--calibrator=entropy counts codes of int8: fp8 takes max or "
                 "percentile");
  if (read.data.empty() && read.scales.empty() && !read.hasFloats())
    return wrong("-fquantize needs --calibrate=DATA, a file or a folder of "
                 "inputs of the model, or --scales=FILE, a table that such a "
                 "compilation wrote");
  if (read.data.empty() &&
      args.hasArg(OPT_calibrator_EQ, OPT_max_error_EQ, OPT_smooth_EQ))
    return wrong("--calibrator, --max-error and --smooth are used with "
                 "--calibrate: the scales of --scales are taken as they are");
  if (!options.trainingFile.empty())
    return wrong("-fquantize is not used with --train");
  if (options.inputs.size() > 1 || options.inputs.front().isDecoder ||
      options.inputs.front().hasCaches)
    return wrong("-fquantize takes one model without caches; -fweights rounds "
                 "the weights of language models");
  if (options.emit == Emit::nn || options.emit == Emit::json)
    return wrong("--emit=nn and json end before -fquantize");
  return !read.data.empty() || read.scales.empty() ||
         takeInput("--scales", read.scales);
}
