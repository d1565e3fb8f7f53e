//===- PipelineSetup.cpp - What a command line asks of the pipeline -------===//

#include "compiler/driver/PipelineSetup.h"

using namespace frit;

/// Returns the last stage that --emit needs.
static Stage stageOf(Emit emit) {
  switch (emit) {
  case Emit::nn:
  case Emit::json:
    return Stage::imported;
  case Emit::fused:
    return Stage::fused;
  case Emit::plan:
  case Emit::dot:
    return Stage::plan;
  case Emit::cuda:
    return Stage::cuda;
  case Emit::ptx:
  case Emit::cubin:
    return Stage::device;
  case Emit::object:
  case Emit::shared:
    return Stage::artifact;
  }
  llvm_unreachable("no such output");
}

PipelineOptions frit::pipelineOptionsOf(const DriverOptions &options) {
  PipelineOptions made;
  made.precision = options.precision;
  made.keepWide = options.keepWide;
  made.keepWideFile = options.keepWideFile;
  made.memoryLimit = options.memoryLimit;
  made.fuse = options.fuse;
  made.guard = options.guard;
  made.fork = options.fork;
  made.archs = options.archs;
  made.cuda.gpu = options.gpu;
  made.cuda.cublas = options.cublas;
  made.cuda.cudnn = options.cudnn;
  made.cuda.deterministic = options.deterministic;
  made.title = options.title;
  made.last = stageOf(options.emit);
  return made;
}
