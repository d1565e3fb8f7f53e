//===- Adapters.cpp - Adapters of low rank --------------------------------===//
//
// The model adds x · Aᵀ · Bᵀ to each product. An adapter of a lower rank than
// the states have is filled up with zeros.
//
//===----------------------------------------------------------------------===//

#include "runtime/generate/Session.h"

#include <bit>
#include <cmath>
#include <map>

using namespace frit;

namespace {
/// A matrix of an adapter as a state.
struct Matrix {
  frit_tensor_info info;
  const frit_tensor *given = nullptr;
  bool isA() const { return std::string(info.name).ends_with("_A"); }
  /// The dimension that is the rank.
  uint32_t rankAxis() const { return isA() ? 0 : 1; }
};
} // namespace

static uint16_t toBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  // Round to nearest, ties to even. Adapters have no NaN.
  return uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static uint16_t toF16(float value) {
  float size = std::fabs(value);
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (size >= 65520)
    return sign | 0x7c00;
  int exponent = size < 0x1p-14f ? -14 : std::ilogb(size);
  // Units of the last place; nearbyint rounds ties to even.
  auto units = uint32_t(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return uint16_t(sign | (units + (uint32_t(exponent + 14) << 10)));
}

/// Returns whether all matrices are finite, and in the range of the state.
static Status checkNumbers(const frit_tensor &tensor, frit_dtype dtype,
                           float scale) {
  float most = dtype == FRIT_F16 ? 65504.0f : 3.38e38f;
  const auto *values = static_cast<const float *>(tensor.data);
  for (int64_t i = 0; i < tensor.dims[0] * tensor.dims[1]; ++i)
    if (!(std::fabs(values[i] * scale) <= most))
      return invalidArgument(format(
          "the adapter's '%s' has the number %g, which the model's type %s "
          "does not hold",
          tensor.name, double(values[i] * scale), frit_dtype_name(dtype)));
  return Status();
}

/// Writes a matrix into rows of the state, which hold zeros.
static void fill(const Matrix &matrix, float scale, std::vector<char> &bytes) {
  int64_t rows = matrix.given->dims[0], columns = matrix.given->dims[1];
  int64_t width = matrix.info.dims[1];
  const auto *from = static_cast<const float *>(matrix.given->data);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) {
      float value = from[i * columns + j] * scale;
      int64_t place = i * width + j;
      if (matrix.info.dtype == FRIT_F32)
        reinterpret_cast<float *>(bytes.data())[place] = value;
      else
        reinterpret_cast<uint16_t *>(bytes.data())[place] =
            matrix.info.dtype == FRIT_F16 ? toF16(value) : toBf16(value);
    }
}

/// Finds the states that adapters are written to.
static Status findMatrices(const frit_session &session,
                           std::map<std::string, Matrix> &matrices) {
  uint32_t count = frit_module_state_count(session.prefillModule);
  for (uint32_t i = 0; i < count; ++i) {
    Matrix matrix;
    if (frit_module_state_role(session.prefillModule, i) != FRIT_STATE_ADAPTER)
      continue;
    FRIT_TRY(called(frit_module_state(session.prefillModule, i, &matrix.info)));
    frit_dtype dtype = matrix.info.dtype;
    if (matrix.info.rank != 2 ||
        (dtype != FRIT_F32 && dtype != FRIT_F16 && dtype != FRIT_BF16))
      return invalidArgument(
          format("the state '%s' does not fit its role; see frit/roles.h",
                 matrix.info.name));
    matrices.emplace(matrix.info.name, matrix);
  }
  if (matrices.empty())
    return invalidArgument(
        format("model '%s' takes no adapters; fritc --lora-rank=RANK lets it",
               frit_module_name(session.prefillModule)));
  return Status();
}

/// Checks that a tensor of an adapter fits the model's state of its name.
static Status checkMatrix(const frit_session &session, const frit_tensor &given,
                          std::map<std::string, Matrix> &matrices) {
  if (!given.name || !given.data || !given.dims)
    return invalidArgument("a tensor of an adapter has no name or no data");
  auto at = matrices.find(given.name);
  const char *model = frit_module_name(session.prefillModule);
  if (at == matrices.end())
    return invalidArgument(
        format("the adapter has '%s', and model '%s' does not: it is an "
               "adapter of another model",
               given.name, model));
  Matrix &matrix = at->second;
  if (given.rank != 2 || given.dtype != FRIT_F32 || given.location != FRIT_HOST)
    return invalidArgument(format(
        "the adapter's '%s' is not an f32 matrix in host memory", given.name));
  uint32_t axis = matrix.rankAxis();
  if (given.dims[1 - axis] != matrix.info.dims[1 - axis])
    return invalidArgument(format(
        "the adapter's '%s' is %lldx%lld, and that of model '%s' %lldx%lld: "
        "it is an adapter of another model",
        given.name, (long long)given.dims[0], (long long)given.dims[1], model,
        (long long)matrix.info.dims[0], (long long)matrix.info.dims[1]));
  if (given.dims[axis] < 1)
    return invalidArgument(
        format("the adapter's '%s' has the rank %lld, which is none",
               given.name, (long long)given.dims[axis]));
  if (given.dims[axis] > matrix.info.dims[axis])
    return invalidArgument(
        format("the adapter's '%s' has the rank %lld, and model '%s' takes up "
               "to %lld; fritc --lora-rank=%lld compiles it for that",
               given.name, (long long)given.dims[axis], model,
               (long long)matrix.info.dims[axis], (long long)given.dims[axis]));
  if (matrix.given)
    return invalidArgument(format("the adapter has '%s' twice", given.name));
  matrix.given = &given;
  return Status();
}

/// Checks that both matrices of each module are there, of one rank.
static Status checkPairs(std::map<std::string, Matrix> &matrices) {
  for (auto &[name, matrix] : matrices) {
    std::string other = name;
    other.back() = matrix.isA() ? 'B' : 'A';
    auto at = matrices.find(other);
    if (!matrix.given)
      continue;
    if (at == matrices.end() || !at->second.given)
      return invalidArgument(format("the adapter has '%s' without '%s'",
                                    name.c_str(), other.c_str()));
    if (matrix.given->dims[matrix.rankAxis()] !=
        at->second.given->dims[at->second.rankAxis()])
      return invalidArgument(
          format("the adapter's '%s' and '%s' differ in their rank",
                 name.c_str(), other.c_str()));
  }
  return Status();
}

static Status adaptChecked(frit_session &session, const frit_tensor *tensors,
                           uint32_t count, float scale) {
  std::map<std::string, Matrix> matrices;
  FRIT_TRY(findMatrices(session, matrices));
  for (uint32_t i = 0; i < count; ++i)
    FRIT_TRY(checkMatrix(session, tensors[i], matrices));
  FRIT_TRY(checkPairs(matrices));
  for (auto &[name, matrix] : matrices)
    if (matrix.given)
      FRIT_TRY(checkNumbers(*matrix.given, matrix.info.dtype,
                            matrix.isA() ? 1 : scale));
  for (auto &[name, matrix] : matrices) {
    std::vector<char> bytes(matrix.info.bytes);
    if (matrix.given)
      fill(matrix, matrix.isA() ? 1 : scale, bytes);
    frit_tensor tensor = hostTensor(matrix.info.name, bytes.data(),
                                    matrix.info.dtype, matrix.info.dims, 2);
    FRIT_TRY(called(frit_state_write(session.prefill, &tensor, 1)));
  }
  return Status();
}

frit_status frit_session_adapt(frit_session *session,
                               const frit_tensor *tensors, uint32_t count,
                               float scale) {
  if (!session || (!tensors && count))
    return nullArgument("frit_session_adapt");
  SessionUse use(*session);
  Status status = use.check();
  if (!status.failed())
    status = adaptChecked(*session, tensors, count, scale);
  return report(std::move(status));
}
