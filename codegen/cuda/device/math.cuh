//===- math.cuh - Scalar functions of emitted bodies ----------------------===//
//
// One name per operation, overloaded for float and double, so that the emitter
// prints the same call for every type. Rounding and corner cases follow the nn
// dialect: maximum and minimum propagate NaN, integer division truncates,
// conversions to integers saturate. Include it through base.cuh.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_DEVICE_MATH_CUH
#define FRIT_CODEGEN_CUDA_DEVICE_MATH_CUH

namespace frit {

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

__device__ inline uint32_t floatToBits(float x) {
#ifdef FRIT_EMULATE
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
#else
  return __float_as_uint(x);
#endif
}

__device__ inline float bitsToFloat(uint32_t bits) {
#ifdef FRIT_EMULATE
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
#else
  return __uint_as_float(bits);
#endif
}

/// Reinterprets the bits of a value as another type of the same size.
template <typename To, typename From> __device__ inline To bitCast(From from) {
  static_assert(sizeof(To) == sizeof(From), "the sizes differ");
  union {
    From from;
    To to;
  } bits = {from};
  return bits.to;
}

//===----------------------------------------------------------------------===//
// Elementary functions
//===----------------------------------------------------------------------===//

__device__ inline float exp(float x) { return ::expf(x); }
__device__ inline double exp(double x) { return ::exp(x); }
/// Computes 2^x with an error of about 2 ulp; 0 for -infinity.
__device__ inline float fastExp2(float x) {
#ifdef FRIT_EMULATE
  return ::exp2f(x);
#else
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#endif
}
/// Computes e^x in three instructions instead of eight, for x at most about 0,
/// such as a difference from a maximum: the relative error is 1e-7 · |x|.
__device__ inline float expShifted(float x) {
  return fastExp2(x * 1.44269504f);
}
/// Computes 1 / (1 + 2^-x), with a relative error of 1e-7 · (1 + |x|).
__device__ inline float logistic2(float x) {
#ifdef FRIT_EMULATE
  return 1.0f / (1.0f + fastExp2(-x));
#else
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(1.0f + fastExp2(-x)));
  return result;
#endif
}
/// Computes 1 / (1 + e^-x), with a relative error of 1e-7 · (1 + |x|).
__device__ inline float logistic(float x) { return logistic2(x * 1.44269504f); }
__device__ inline float exp2(float x) { return ::exp2f(x); }
__device__ inline double exp2(double x) { return ::exp2(x); }
__device__ inline float expm1(float x) { return ::expm1f(x); }
__device__ inline double expm1(double x) { return ::expm1(x); }
__device__ inline float log(float x) { return ::logf(x); }
__device__ inline double log(double x) { return ::log(x); }
__device__ inline float log2(float x) { return ::log2f(x); }
__device__ inline double log2(double x) { return ::log2(x); }
__device__ inline float log1p(float x) { return ::log1pf(x); }
__device__ inline double log1p(double x) { return ::log1p(x); }
__device__ inline float sqrt(float x) { return ::sqrtf(x); }
__device__ inline double sqrt(double x) { return ::sqrt(x); }
__device__ inline float rsqrt(float x) { return ::rsqrtf(x); }
__device__ inline double rsqrt(double x) { return 1.0 / ::sqrt(x); }
__device__ inline float pow(float x, float y) { return ::powf(x, y); }
__device__ inline double pow(double x, double y) { return ::pow(x, y); }
__device__ inline double erf(double x) { return ::erf(x); }

__device__ inline float sin(float x) { return ::sinf(x); }
__device__ inline double sin(double x) { return ::sin(x); }
__device__ inline float cos(float x) { return ::cosf(x); }
__device__ inline double cos(double x) { return ::cos(x); }
__device__ inline float tan(float x) { return ::tanf(x); }
__device__ inline double tan(double x) { return ::tan(x); }
__device__ inline float asin(float x) { return ::asinf(x); }
__device__ inline double asin(double x) { return ::asin(x); }
__device__ inline float acos(float x) { return ::acosf(x); }
__device__ inline double acos(double x) { return ::acos(x); }
__device__ inline float atan(float x) { return ::atanf(x); }
__device__ inline double atan(double x) { return ::atan(x); }
__device__ inline float atan2(float y, float x) { return ::atan2f(y, x); }
__device__ inline double atan2(double y, double x) { return ::atan2(y, x); }
__device__ inline float sinh(float x) { return ::sinhf(x); }
__device__ inline double sinh(double x) { return ::sinh(x); }
__device__ inline float cosh(float x) { return ::coshf(x); }
__device__ inline double cosh(double x) { return ::cosh(x); }
__device__ inline float tanh(float x) { return ::tanhf(x); }
__device__ inline double tanh(double x) { return ::tanh(x); }
__device__ inline float asinh(float x) { return ::asinhf(x); }
__device__ inline double asinh(double x) { return ::asinh(x); }
__device__ inline float acosh(float x) { return ::acoshf(x); }
__device__ inline double acosh(double x) { return ::acosh(x); }
__device__ inline float atanh(float x) { return ::atanhf(x); }
__device__ inline double atanh(double x) { return ::atanh(x); }

__device__ inline float floor(float x) { return ::floorf(x); }
__device__ inline double floor(double x) { return ::floor(x); }
__device__ inline float ceil(float x) { return ::ceilf(x); }
__device__ inline double ceil(double x) { return ::ceil(x); }
__device__ inline float trunc(float x) { return ::truncf(x); }
__device__ inline double trunc(double x) { return ::trunc(x); }
/// Rounds to the nearest integer, ties to even; ONNX Round.
__device__ inline float roundEven(float x) { return ::rintf(x); }
__device__ inline double roundEven(double x) { return ::rint(x); }
/// Returns x / by, or 0 for -0, given 1 / by rounded. The rest of a first
/// quotient corrects it, at less than half of a division's instructions.
__device__ inline float quotient(float x, float by, float inverse) {
  float quotient = x * inverse;
  float rest = ::fmaf(-quotient, by, x);
  float better = ::fmaf(rest, inverse, quotient);
  // The rest of an infinity is no number.
  return ::fabsf(quotient) < INFINITY ? better : quotient;
}
/// Returns roundEven(x / by), or 0 for -0, given 1 / by rounded.
__device__ inline float roundQuotient(float x, float by, float inverse) {
  return roundEven(quotient(x, by, inverse));
}
/// Rounds x to the nearest integer, clamps it to integers, adds another one,
/// and returns the byte; 0 for NaN. The bounds are below 2^21. Conversions take
/// longer than sums: 1.5 * 2^23 is so large that the sum is the integer.
__device__ inline int8_t roundToByte(float x, float low, float high,
                                     float offset) {
  if (low + offset != 0.0f && x != x)
    x = -offset;
  float clamped = ::fminf(::fmaxf(x, low), high);
  return int8_t(bitCast<int>(clamped + 12582912.0f) + int(offset));
}
/// Rounds to the nearest integer, ties away from zero.
__device__ inline float round(float x) { return ::roundf(x); }
__device__ inline double round(double x) { return ::round(x); }
__device__ inline float fma(float x, float y, float z) {
  return ::fmaf(x, y, z);
}
__device__ inline double fma(double x, double y, double z) {
  return ::fma(x, y, z);
}
__device__ inline float copysign(float x, float y) { return ::copysignf(x, y); }
__device__ inline double copysign(double x, double y) {
  return ::copysign(x, y);
}

/// Returns the remainder with the dividend's sign, as C's fmod.
__device__ inline float fmod(float x, float y) { return ::fmodf(x, y); }
__device__ inline double fmod(double x, double y) { return ::fmod(x, y); }
__device__ inline float abs(float x) { return ::fabsf(x); }
__device__ inline double abs(double x) { return ::fabs(x); }
template <class T> __device__ inline T abs(T x) { return x < T(0) ? T(-x) : x; }

/// Returns the greater value; NaN if either is NaN.
template <class T> __device__ inline T maximum(T x, T y) {
  return x > y || x != x ? x : y;
}
/// Returns the lesser value; NaN if either is NaN.
template <class T> __device__ inline T minimum(T x, T y) {
  return x < y || x != x ? x : y;
}
/// Returns the 32-bit integer that is nearest to x.
__device__ inline int saturate32(int64_t x) {
  return int(
      minimum<int64_t>(maximum<int64_t>(x, -0x7fffffff - 1), 0x7fffffff));
}
#if !defined(FRIT_EMULATE) && __CUDA_ARCH__ >= 800
__device__ inline float maximum(float x, float y) {
  float result;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
  return result;
}
__device__ inline float minimum(float x, float y) {
  float result;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(x), "f"(y));
  return result;
}
#endif

/// Computes the error function by an odd rational approximation, fitted by
/// weighted least squares. It has no branches: the library's version has two,
/// and most warps take both. The relative error is below 5e-7; beyond 3.9 the
/// result is 1 in f32.
__device__ inline float erf(float x) {
  float t = minimum(x * x, 15.21f);
  float p = ::fmaf(t, 2.0664028852479532e-06f, 0.00028505863156169653f);
  float q = ::fmaf(t, 3.826911051874049e-05f, 0.0011573770316317677f);
  p = ::fmaf(t, p, 0.0037383821327239275f);
  q = ::fmaf(t, q, 0.014914347790181637f);
  p = ::fmaf(t, p, 0.052668165415525436f);
  q = ::fmaf(t, q, 0.11381945759057999f);
  p = ::fmaf(t, p, 0.18966825306415558f);
  q = ::fmaf(t, q, 0.5014218688011169f);
  p = ::fmaf(t, p, 1.1283791065216064f);
  q = ::fmaf(t, q, 1.0f);
#ifdef FRIT_EMULATE
  float result = x * p / q;
#else
  float result = __fdividef(x * p, q);
#endif
  return minimum(maximum(result, -1.0f), 1.0f);
}

/// Computes q(t) of geluTo16Bits.
__device__ inline float geluExponent(float t) {
  float q = ::fmaf(t, 1.10380489e-06f, -3.03671747e-05f);
  q = ::fmaf(t, q, -8.65086655e-04f);
  q = ::fmaf(t, q, 0.106813592f);
  return ::fmaf(t, q, 2.30069229f);
}

/// Computes GELU for 16-bit results: x / (1 + 2^(-x q(x^2))), with q fitted by
/// weighted least squares. The absolute error is below 5e-5; for values beyond
/// 1e-3 the relative error is below 2.8e-4. An exact GELU takes 24
/// instructions, so that with ping-pong the epilogue would take longer than the
/// other warpgroup's main loop.
__device__ inline float geluTo16Bits(float x) {
  return x * logistic2(x * geluExponent(x * x));
}

/// Also computes the slope, gate + x φ(x), where φ is the normal density; its
/// absolute error is below 8e-5.
__device__ inline float geluTo16Bits(float x, float &slope) {
  float t = x * x;
  float gate = logistic2(x * geluExponent(t));
  slope = ::fmaf(x * 0.39894228f, fastExp2(t * -0.72134752f), gate);
  return x * gate;
}

/// Computes the slope of GELU at `x` for 16-bit results: 0.5 + x p(x^2) up to
/// 4.5, beyond which it is 0 or 1, with p fitted by weighted least squares in
/// s, which is x^2 mapped onto [-1, 1]. The absolute error is below 7e-5.
/// Exact, it takes twice as many instructions, and with ping-pong the epilogue
/// would take longer than the other warpgroup's main loop.
__device__ inline float geluSlopeTo16Bits(float x) {
  x = minimum(maximum(x, -4.5f), 4.5f);
  float s = ::fmaf(x * x, 0.0987654328f, -1.0f);
  float p = ::fmaf(s, -0.0274131354f, 0.0581477992f);
  p = ::fmaf(s, p, -0.0408732034f);
  p = ::fmaf(s, p, 0.0442357957f);
  p = ::fmaf(s, p, -0.0902649835f);
  p = ::fmaf(s, p, 0.106736109f);
  p = ::fmaf(s, p, -0.0948976055f);
  p = ::fmaf(s, p, 0.0859332904f);
  p = ::fmaf(s, p, -0.0899442509f);
  p = ::fmaf(s, p, 0.159451291f);
  return ::fmaf(x, p, 0.5f);
}

__device__ inline bool isNan(float x) { return x != x; }
__device__ inline bool isNan(double x) { return x != x; }
__device__ inline bool isInf(float x) { return abs(x) == INFINITY; }
__device__ inline bool isInf(double x) { return abs(x) == double(INFINITY); }

//===----------------------------------------------------------------------===//
// Functions that are not inlined
//===----------------------------------------------------------------------===//

// The library's versions inline up to 100 instructions per use. Kernels with
// many uses call one copy instead.
namespace called {
#ifdef FRIT_EMULATE
#define FRIT_CALLED inline
#else
#define FRIT_CALLED __device__ __noinline__ inline
#endif
#define FRIT_CALLED_UNARY(name)                                                \
  FRIT_CALLED float name(float x) { return frit::name(x); }                    \
  FRIT_CALLED double name(double x) { return frit::name(x); }
#define FRIT_CALLED_BINARY(name)                                               \
  FRIT_CALLED float name(float x, float y) { return frit::name(x, y); }        \
  FRIT_CALLED double name(double x, double y) { return frit::name(x, y); }
FRIT_CALLED_UNARY(sin)
FRIT_CALLED_UNARY(cos)
FRIT_CALLED_UNARY(tan)
FRIT_CALLED_UNARY(asin)
FRIT_CALLED_UNARY(acos)
FRIT_CALLED_UNARY(atan)
FRIT_CALLED_UNARY(sinh)
FRIT_CALLED_UNARY(cosh)
FRIT_CALLED_UNARY(tanh)
FRIT_CALLED_UNARY(asinh)
FRIT_CALLED_UNARY(acosh)
FRIT_CALLED_UNARY(atanh)
FRIT_CALLED_UNARY(log)
FRIT_CALLED_UNARY(log2)
FRIT_CALLED_UNARY(log1p)
FRIT_CALLED_UNARY(expm1)
FRIT_CALLED_UNARY(erf)
FRIT_CALLED_BINARY(pow)
FRIT_CALLED_BINARY(fmod)
FRIT_CALLED_BINARY(atan2)
#undef FRIT_CALLED_BINARY
#undef FRIT_CALLED_UNARY
#undef FRIT_CALLED
} // namespace called

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Divides and truncates, ONNX Div. Division by zero gives 0, and by -1 negates
/// with wrap-around: both would trap on the host, where the emulator runs this.
template <class T> __device__ inline T divS(T x, T y) {
  if (y == T(0))
    return T(0);
  if (T(-1) < T(0) && y == T(-1))
    return T(0 - uint64_t(x));
  return T(x / y);
}

/// Returns the remainder of truncating division, with the dividend's sign.
template <class T> __device__ inline T remS(T x, T y) {
  if (y == T(0) || (T(-1) < T(0) && y == T(-1)))
    return T(0);
  return T(x % y);
}

template <class T> __device__ inline T floorDiv(T x, T y) {
  T rest = remS(x, y);
  return T(divS(x, y) - (rest != T(0) && (rest < T(0)) != (y < T(0))));
}

template <class T> __device__ inline T ceilDiv(T x, T y) {
  T rest = remS(x, y);
  return T(divS(x, y) + (rest != T(0) && (rest < T(0)) == (y < T(0))));
}

/// Returns the remainder with the divisor's sign, ONNX Mod with fmod=0.
template <class T> __device__ inline T floorMod(T x, T y) {
  T rest = remS(x, y);
  return T(rest != T(0) && (rest < T(0)) != (y < T(0)) ? rest + y : rest);
}

/// Converts `x` to T, rounding towards zero and saturating; 0 for NaN.
template <class T, class F> __device__ inline T toInt(F x) {
  constexpr bool isSigned = T(-1) < T(0);
  constexpr int valueBits = int(sizeof(T)) * 8 - isSigned;
  constexpr T greatest = T(~uint64_t(0) >> (64 - valueBits));
  constexpr T least = isSigned ? T(-greatest - 1) : T(0);
  if (x != x)
    return T(0);
  if (x <= F(least))
    return least;
  // F(greatest) may round up, to the first value that is out of range.
  return x >= F(greatest) ? greatest : T(x);
}

//===----------------------------------------------------------------------===//
// 16-bit floats on the host
//===----------------------------------------------------------------------===//

#ifdef FRIT_EMULATE
inline float halfToFloat(uint16_t half) {
  uint32_t sign = (half & 0x8000u) << 16;
  uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
  if (exponent == 31)
    return bitsToFloat(sign | 0x7f800000u | mantissa << 13);
  if (exponent)
    return bitsToFloat(sign | (exponent + 112) << 23 | mantissa << 13);
  float tiny = float(mantissa) * 0x1p-24f;
  return sign ? -tiny : tiny;
}

inline uint16_t floatToHalf(float x) {
  uint32_t bits = floatToBits(x), sign = bits >> 16 & 0x8000u;
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return 0x7fff;
  if (magnitude >= 0x477ff000u) // rounds to 65536 or more
    return sign | 0x7c00;
  if (magnitude < 0x38800000u) { // below 2^-14: a multiple of 2^-24
    return sign | uint16_t(::rintf(bitsToFloat(magnitude) * 0x1p24f));
  }
  uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return sign | uint16_t((rounded >> 13) - (112 << 10));
}
#endif

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_DEVICE_MATH_CUH
