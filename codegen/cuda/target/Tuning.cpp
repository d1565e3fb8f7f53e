//===- Tuning.cpp - Schedules that were timed on a device -----------------===//

#include "codegen/cuda/target/Tuning.h"

#include "codegen/cuda/attention/AttentionTile.h"
#include "codegen/cuda/compile/Headers.h"
#include "codegen/cuda/contraction/Contraction.h"
#include "codegen/cuda/epilogue/EndStages.h"
#include "codegen/cuda/integer/IntegerProduct.h"
#include "codegen/cuda/scalar/LinalgFusion.h"
#include "codegen/cuda/target/CudaDialect.h"
#include "codegen/cuda/target/Problem.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

//===----------------------------------------------------------------------===//
// Problems as text
//===----------------------------------------------------------------------===//

namespace {
/// A line such as "gemm f16 m=384 bias": a word, then the properties that
/// differ from the default.
class ProblemLine {
public:
  explicit ProblemLine(StringRef kind, Type type) : os(text) {
    os << kind << " " << type;
  }
  void add(StringRef name, int64_t value, int64_t usual = -1) {
    if (value != usual)
      os << " " << name << "=" << value;
  }
  void add(StringRef word, bool holds) {
    if (holds)
      os << " " << word;
  }
  void addEpilogue(const nn::Epilogue &epilogue, Type operand, Type result) {
    for (StringRef words : wordsOf(epilogue))
      add(words, true);
    if (result != operand)
      os << " to " << result;
  }
  std::string take() { return std::move(text); }

private:
  std::string text;
  llvm::raw_string_ostream os;
};
} // namespace

static std::string gemmProblem(nn::GemmInfo info, Type result) {
  ProblemLine line("gemm", elementType(info.a));
  line.add("m", info.m);
  line.add("n", info.n);
  line.add("k", info.k);
  line.add("batch", info.batch, 1);
  line.add("ta", info.transposeA);
  line.add("tb", info.transposeB);
  line.add("lda", info.lda, info.transposeA ? info.m : info.k);
  line.add("ldb", info.ldb, info.transposeB ? info.k : info.n);
  line.add("ldd", info.ldd, info.n);
  if (info.batch > 1) {
    line.add("sa", info.strideA, info.m * info.k);
    line.add("sb", info.strideB, info.k * info.n);
    line.add("sd", info.strideD, info.m * info.n);
  }
  line.add("tf32", info.tf32);
  line.add("pair", bool(info.pairedB));
  line.addEpilogue(info.epilogue, elementType(info.a), result);
  return line.take();
}

/// Adds a convolution's sizes. An addend has the same pixels and filters as the
/// convolution, so these are left out.
static void addWindows(ProblemLine &line, const nn::ConvInfo &info,
                       bool isAddend = false) {
  line.add("n", info.n, isAddend ? info.n : -1);
  line.add("c", info.c);
  line.add("h", info.h);
  line.add("w", info.width);
  line.add("k", info.k, isAddend ? info.k : -1);
  line.add("r", info.r);
  line.add("s", info.s);
  line.add("p", info.p, isAddend ? info.p : -1);
  line.add("q", info.q, isAddend ? info.q : -1);
  line.add("sh", info.strideH, 1);
  line.add("sw", info.strideW, 1);
  line.add("dh", info.dilationH, 1);
  line.add("dw", info.dilationW, 1);
  line.add("top", info.padTop, 0);
  line.add("left", info.padLeft, 0);
}

static std::string convProblem(nn::ConvInfo info, Type result) {
  ProblemLine line("conv", elementType(info.x));
  addWindows(line, info);
  if (info.epilogue.addend) {
    line.add("plus", true);
    addWindows(line, nn::describeAddend(info), /*isAddend=*/true);
  }
  line.add("groups", info.groups, 1);
  line.add("nhwc", info.channelsLast);
  line.add("tf32", info.tf32);
  line.addEpilogue(info.epilogue, elementType(info.x), result);
  return line.take();
}

/// Leaves out the strides of operands: rows are read in 16-byte pieces anyway.
static std::string attentionProblem(nn::AttentionInfo info) {
  ProblemLine line("attention", elementType(info.op.getQ()));
  line.add("b", info.batch, 1);
  line.add("heads", info.heads);
  line.add("groups", info.groups, info.heads);
  line.add("q", info.queries);
  line.add("k", info.keys, info.queries);
  line.add("d", info.size);
  line.add("dv", info.valueSize, info.size);
  line.add("tf32", bool(info.op.getTf32()));
  line.add("causal", info.causal);
  line.add("mask", info.mask.has_value());
  return line.take();
}

/// Adds the sizes and windows of a product of bytes.
static void addSizes(ProblemLine &line, const IntegerProduct &product) {
  line.add("n", product.n);
  line.add("c", product.c);
  line.add("h", product.h, 1);
  line.add("w", product.w, 1);
  line.add("k", product.k);
  line.add("r", product.r, 1);
  line.add("s", product.s, 1);
  line.add("p", product.p, 1);
  line.add("q", product.q, 1);
  line.add("sh", product.strideH, 1);
  line.add("sw", product.strideW, 1);
  line.add("dh", product.dilationH, 1);
  line.add("dw", product.dilationW, 1);
  line.add("top", product.padTop, 0);
  line.add("left", product.padLeft, 0);
}

/// Leaves out what follows the sums, but for what is read and stored for each.
static std::string integerProblem(const IntegerProduct &product, Type result) {
  nn::QuantizedConvOp conv = product.op;
  ProblemLine line("bytes", elementType(conv.getX()));
  line.add("signed", product.signedW);
  addSizes(line, product);
  line.add("reads", product.addedBytes, 0);
  if (product.first) {
    IntegerProduct first = describeFirst(product);
    line.add("plus", true);
    line.add("signed", first.signedW);
    addSizes(line, first);
  }
  line.addEpilogue({}, elementType(conv.getY()), result);
  return line.take();
}

std::string frit::cuda::tuningProblem(Problem &problem) {
  nn::FusionOp fusion = problem.fusion();
  if (fusion.getNumResults() == 0)
    return "";
  if (auto attention = describeKernelAttention(problem))
    return attentionProblem(*attention);
  Type result = elementType(fusion.getResult(0));
  if (problem.kind() == Problem::Kind::quantized) {
    auto product = describeProduct(fusion);
    return product ? integerProblem(*product, result) : "";
  }
  if (problem.conv())
    return convProblem(*problem.conv(), result);
  if (problem.gemm())
    return gemmProblem(*problem.gemm(), result);
  if (const nn::GemmInfo *pair = pairOf(problem); pair && !pair->norm)
    return gemmProblem(*pair, result);
  return "";
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

std::string Tuning::line(StringRef problem, const TunedSchedule &tuned) {
  std::string text;
  llvm::raw_string_ostream(text)
      << problem << " | " << tuned.arch << " | " << tuned.environment << " | "
      << tuned.schedule
      << llvm::formatv(" | {0:F2} us, best of {1}\n", tuned.microseconds,
                       tuned.candidates);
  return text;
}

llvm::Error Tuning::addLine(StringRef line, MLIRContext *context) {
  SmallVector<StringRef> fields;
  line.split(fields, '|');
  for (StringRef &field : fields)
    field = field.trim();
  if (fields.size() != 5)
    return llvm::createStringError("it has not five fields");
  TunedSchedule tuned;
  tuned.arch = fields[1];
  tuned.environment = fields[2];
  std::string why;
  {
    // The caller reports errors of the file, once.
    ScopedDiagnosticHandler collect(context, [&](Diagnostic &diagnostic) {
      if (why.empty())
        why = ": " + diagnostic.str();
    });
    tuned.schedule =
        dyn_cast_or_null<nn::Schedule>(parseAttribute(fields[3], context));
  }
  if (!tuned.schedule)
    return llvm::createStringError("its schedule cannot be read" + why);
  auto [time, rest] = fields[4].split(" us, best of ");
  if (time.getAsDouble(tuned.microseconds) ||
      rest.getAsInteger(10, tuned.candidates))
    return llvm::createStringError("its time cannot be read");
  add(fields[0], std::move(tuned));
  return llvm::Error::success();
}

llvm::Error Tuning::read(StringRef path, MLIRContext *context) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return llvm::createFileError(path, file.getError());
  return addLines(path, (*file)->getBuffer(), context);
}

llvm::Error Tuning::readShipped(MLIRContext *context) {
  return addLines("shipped.tune", shippedTuning(), context);
}

llvm::Error Tuning::addLines(StringRef path, StringRef text,
                             MLIRContext *context) {
  if (!text.consume_front(firstLine()))
    return llvm::createStringError(path +
                                   ": is no tuning file of this version");
  unsigned number = 1;
  while (!text.empty()) {
    StringRef line;
    std::tie(line, text) = text.split('\n');
    ++number;
    line = line.trim();
    if (line.empty() || line.starts_with("#"))
      continue;
    if (llvm::Error error = addLine(line, context))
      return llvm::createStringError(path + ":" + Twine(number) + ": " +
                                     llvm::toString(std::move(error)));
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Lookup
//===----------------------------------------------------------------------===//

const TunedSchedule *Tuning::find(StringRef problem, StringRef arch,
                                  StringRef environment,
                                  StringRef device) const {
  auto it = schedules.find(problem);
  if (it == schedules.end())
    return nullptr;
  for (const TunedSchedule &tuned : llvm::reverse(it->second))
    if (tuned.arch == arch &&
        (environment.empty() || tuned.environment == environment) &&
        (device.empty() ||
         StringRef(tuned.environment).split(',').first == device))
      return &tuned;
  return nullptr;
}

/// Returns the candidate that corresponds to a schedule: without the algorithm
/// of a library's call.
static nn::Schedule candidateOf(nn::Schedule schedule) {
  auto call = dyn_cast<plan::LibraryCall>(schedule);
  return call ? call.withAlgorithm(0) : schedule;
}

nn::Schedule
Tuning::pick(Problem &fusion, const GpuArch &arch,
             llvm::function_ref<SmallVector<nn::Schedule>()> candidates) const {
  std::string problem = tuningProblem(fusion);
  if (problem.empty())
    return nullptr;
  bool isUsual = arch.sms == describeArch(arch.name).sms;
  StringRef device = isUsual ? StringRef() : StringRef(arch.device);
  const TunedSchedule *tuned = find(problem, arch.name, "", device);
  // Kernels take the same time for f16 and bf16.
  if (size_t at = StringRef(problem).find(" bf16 ");
      !tuned && at != StringRef::npos)
    tuned = find(std::string(problem).replace(at, 6, " f16 "), arch.name, "",
                 device);
  if (tuned && llvm::is_contained(candidates(), candidateOf(tuned->schedule)))
    return tuned->schedule;
  if (warnsOfMisses && missed.insert(problem).second)
    emitWarning(fusion.fusion().getLoc())
        << (tuned ? "its tuned schedule is none of those that it may have now"
                  : "it is not tuned")
        << ": '" << problem << "' for " << arch.name << " [-Wtune-miss]";
  return nullptr;
}
