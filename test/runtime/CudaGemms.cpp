//===- CudaGemms.cpp - Matrix products of a library against loops ---------===//

#include "CudaProblems.h"
#include "LibraryProblem.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/library/CublasLt.h"

#include <set>

using namespace frit::test;
using frit::Activation;

static void testGemm(Gemm gemm, double tolerance) {
  Problem problem;
  bool whole = gemm.compute == Compute::i32;
  gemm.lda = (gemm.transposeA ? gemm.m : gemm.k) + 8;
  gemm.ldb = (gemm.transposeB ? gemm.k : gemm.n) + 16;
  gemm.ldd = gemm.n + 8;
  gemm.strideA = gemm.lda * (gemm.transposeA ? gemm.k : gemm.m);
  gemm.strideB =
      gemm.batch > 2 ? 0 : gemm.ldb * (gemm.transposeB ? gemm.n : gemm.k);
  gemm.strideD = gemm.ldd * gemm.m;
  gemm.workspaceBytes = kWorkspace;
  int64_t countB = gemm.ldb * (gemm.transposeB ? gemm.n : gemm.k) *
                   (gemm.strideB ? gemm.batch : 1);
  Buffer a = problem.operand(gemm.typeA, gemm.strideA * gemm.batch, whole);
  Buffer b = problem.operand(gemm.typeB, countB, whole);
  // Vectors of one element stand for absent operands.
  Buffer bias = problem.operand(gemm.typeD, gemm.n, whole);
  int64_t count = gemm.strideD * gemm.batch;
  Buffer residual = problem.operand(gemm.typeD, count, whole);
  Buffer d = problem.result(gemm.typeD, count);
  std::string label =
      std::string(nameOf(gemm.compute)) +
      (gemm.typeA == DType::bf16 ? " bf16" : "") +
      (gemm.typeD != gemm.typeA ? " wide" : "") +
      (gemm.transposeA ? " T" : " N") + (gemm.transposeB ? "T" : "N") +
      " batch " + std::to_string(gemm.batch) + (gemm.hasBias ? " bias" : "") +
      (gemm.hasResidual ? " residual " : " ") + nameOf(gemm.activation);
  std::vector<Buffer> operands = {a, b};
  if (gemm.hasBias)
    operands.push_back(bias);
  if (gemm.hasResidual)
    operands.push_back(residual);
  operands.insert(operands.end(), {d, Problem::workspace()});
  problem.plan.gemm(gemm, label, operands);

  // The call must not write between rows. The reference has no values there, so
  // start from unmodified bytes.
  std::vector<uint8_t> untouched(size_t(count) * elementBytes(gemm.typeD));
  std::vector<double> expected = unpack(untouched, gemm.typeD);
  const std::vector<double> &valuesA = problem.values[0],
                            &valuesB = problem.values[1];
  for (int64_t batch = 0; batch < gemm.batch; ++batch)
    for (int64_t i = 0; i < gemm.m; ++i)
      for (int64_t j = 0; j < gemm.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < gemm.k; ++k)
          sum += valuesA[size_t(
                     batch * gemm.strideA +
                     (gemm.transposeA ? k * gemm.lda + i : i * gemm.lda + k))] *
                 valuesB[size_t(
                     batch * gemm.strideB +
                     (gemm.transposeB ? j * gemm.ldb + k : k * gemm.ldb + j))];
        size_t at = size_t(batch * gemm.strideD + i * gemm.ldd + j);
        if (gemm.hasBias)
          sum += problem.values[2][size_t(j)];
        if (gemm.hasResidual)
          sum += problem.values[3][at];
        expected[at] = activate(sum, gemm.activation);
      }
  problem.check(expected, tolerance, label, "cuBLASLt");
}

void frit::test::testGemms() {
  struct Precision {
    Compute compute;
    DType in, out;
    double tolerance;
  };
  const Precision precisions[] = {
      {Compute::f32, DType::f32, DType::f32, 2e-6},
      {Compute::tf32, DType::f32, DType::f32, 2e-3},
      {Compute::f16, DType::f16, DType::f16, 1e-3},
      {Compute::f16, DType::bf16, DType::bf16, 6e-3},
      {Compute::f16, DType::f16, DType::f32, 1e-5},
      {Compute::f64, DType::f64, DType::f64, 1e-14},
  };
  for (const Precision &precision : precisions) {
    Gemm gemm;
    gemm.m = 40;
    gemm.n = 72;
    gemm.k = 56;
    gemm.compute = precision.compute;
    gemm.typeA = gemm.typeB = precision.in;
    gemm.typeD = precision.out;
    for (unsigned kind = 0; kind < 4; ++kind) {
      gemm.transposeA = kind & 1;
      gemm.transposeB = kind >> 1;
      gemm.batch = 1 + kind;
      testGemm(gemm, precision.tolerance);
    }
    gemm.transposeA = 0;
    gemm.transposeB = 1;
    gemm.batch = 1;
    if (precision.compute == Compute::f64)
      continue;
    for (Activation activation :
         {Activation::none, Activation::relu, Activation::geluTanh}) {
      gemm.activation = activation;
      gemm.hasBias = 1;
      gemm.hasResidual = 0;
      testGemm(gemm, precision.tolerance);
      gemm.hasResidual = 1;
      testGemm(gemm, precision.tolerance);
    }
    gemm.batch = 3;
    gemm.activation = Activation::none;
    testGemm(gemm, precision.tolerance);
  }
  Gemm whole;
  whole.m = whole.n = whole.k = 64;
  whole.compute = Compute::i32;
  whole.typeA = whole.typeB = DType::i8;
  whole.typeD = DType::i32;
  whole.transposeB = 1;
  testGemm(whole, 0);
}

/// Checks that the requested algorithm is first and all others follow, and that
/// an unknown one has no effect.
void frit::test::testAlgorithms() {
  cuda::Gpu gpu;
  CHECK(!gpu.open(0).failed() && !gpu.retainContext().failed());
  cuda::ContextScope scope(gpu);
  cuda::CublasLt library;
  CHECK(library.load() && library.open());
  Gemm gemm;
  gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldd = 1024;
  gemm.typeA = gemm.typeB = gemm.typeD = DType::f16;
  gemm.compute = Compute::f16;
  gemm.workspaceBytes = kWorkspace;
  const uint32_t alignments[] = {256, 256, 256, 256};
  auto numbersFor = [&](uint32_t algorithm) {
    gemm.algorithm = algorithm;
    auto call = library.prepare(gemm, alignments);
    return call ? call->algorithms() : std::vector<uint32_t>();
  };
  std::vector<uint32_t> favourites = numbersFor(0);
  std::set<uint32_t> all(favourites.begin(), favourites.end());
  CHECK(all.size() > 1 && all.size() == favourites.size() && !all.count(0));
  for (uint32_t number : favourites) {
    std::vector<uint32_t> numbers = numbersFor(number);
    CHECK(numbers.size() == favourites.size() && numbers.front() == number);
    CHECK(std::set<uint32_t>(numbers.begin(), numbers.end()) == all);
  }
  CHECK(numbersFor(1) == favourites);
}
