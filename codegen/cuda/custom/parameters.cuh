//===- parameters.cuh - Check the types of a user's function --------------===//
//
// Included before a user's text, which gets
//
//   static_assert(sizeof(frit::user::Function<float(float, float)>::check(
//                     softcap)) > 0, "");
//
// If the types differ, the compiler reports a class that it cannot instantiate,
// with the index of the parameter, its type and the type it should have:
//
//   Parameter<1, int, float>
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_CUSTOM_PARAMETERS_CUH
#define FRIT_CODEGEN_CUDA_CUSTOM_PARAMETERS_CUH

namespace frit::user {

/// Stands for the type of a kernel's number, which is checked in the PTX.
struct Number;
/// Stands for the type of a pointer to the workspace.
struct Workspace;
/// Stands for the type of an integer that fits into `Bytes` bytes.
template <typename Type, int Bytes> struct Narrow;

template <typename T> struct IntegerBytes {
  static constexpr int value = 0;
};
template <typename T, int Bytes = sizeof(T)> struct Integer {
  static constexpr int value = Bytes;
};
template <> struct IntegerBytes<char> : Integer<char> {};
template <> struct IntegerBytes<signed char> : Integer<signed char> {};
template <> struct IntegerBytes<unsigned char> : Integer<unsigned char> {};
template <> struct IntegerBytes<short> : Integer<short> {};
template <> struct IntegerBytes<unsigned short> : Integer<unsigned short> {};
template <> struct IntegerBytes<int> : Integer<int> {};
template <> struct IntegerBytes<unsigned> : Integer<unsigned> {};
template <> struct IntegerBytes<long> : Integer<long> {};
template <> struct IntegerBytes<unsigned long> : Integer<unsigned long> {};
template <> struct IntegerBytes<long long> : Integer<long long> {};
template <>
struct IntegerBytes<unsigned long long> : Integer<unsigned long long> {};

/// Whether a parameter of type Has takes a value of type Wants unchanged.
/// Integers of the same size do, signed or not.
template <typename Has, typename Wants> struct Takes {
  static constexpr bool value =
      IntegerBytes<Has>::value &&
      IntegerBytes<Has>::value == IntegerBytes<Wants>::value;
};
template <typename T> struct Takes<T, T> {
  static constexpr bool value = true;
};
template <typename T> struct Takes<const T &, T> : Takes<T, T> {};
template <typename Has, typename Wants>
struct Takes<const Has *, const Wants *> : Takes<Has, Wants> {};
template <typename Has, typename Wants>
struct Takes<Has *, Wants *> : Takes<Has, Wants> {};
template <typename T> struct Takes<const T *, const T *> : Takes<T, T> {};
template <typename T> struct Takes<T *, T *> : Takes<T, T> {};
template <typename Has, typename Wants, int Bytes>
struct Takes<Has, Narrow<Wants, Bytes>> {
  static constexpr bool value = IntegerBytes<Has>::value >= Bytes &&
                                IntegerBytes<Has>::value <= int(sizeof(Wants));
};
template <typename Wants> struct Takes<bool, Narrow<Wants, 1>> {
  static constexpr bool value = true;
};
template <typename Has> struct Takes<Has, Number> : Takes<Has, Has> {};
template <typename Has> struct Takes<Has *, Workspace> : Takes<Has, Has> {};
template <typename Has> struct Takes<const Has *, Workspace> {
  static constexpr bool value = false;
};

template <int Index, typename Has, typename ShouldHave> struct Parameter {
  static_assert(Takes<Has, ShouldHave>::value,
                "a parameter of the function does not have the type of what is "
                "passed: Parameter<index, its type, the type it should have>");
};
template <typename Has, typename ShouldHave> struct Result {
  static_assert(Takes<Has, ShouldHave>::value,
                "the function's result does not have the type of the output: "
                "Result<its type, the type it should have>");
};

template <typename... Types> struct List {};

/// Checks the parameters that both lists have.
template <int Index, typename Has, typename ShouldHave> struct Parameters {};
template <int Index, typename Has, typename... Others, typename ShouldHave,
          typename... Rest>
struct Parameters<Index, List<Has, Others...>, List<ShouldHave, Rest...>>
    : Parameter<Index, Has, ShouldHave>,
      Parameters<Index + 1, List<Others...>, List<Rest...>> {};

template <typename Type> struct Function;
template <typename R, typename... Ps> struct Function<R(Ps...)> {
  template <typename Has, typename... Types>
  struct Checked : Result<Has, R>,
                   Parameters<0, List<Types...>, List<Ps...>> {};

  /// Chooses among overloads and instances of a template.
  __device__ static Checked<R, Ps...> check(R (*)(Ps...));
  template <typename Has, typename... Types>
  __device__ static Checked<Has, Types...> check(Has (*)(Types...));
};

} // namespace frit::user

#endif // FRIT_CODEGEN_CUDA_CUSTOM_PARAMETERS_CUH
