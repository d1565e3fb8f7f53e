//===- Sanitize.cpp - How the address sanitizer treats tools with LLVM ----===//
//
// LLVM's allocators mark memory as free in headers, which are instrumented
// here, and as used again in its libraries, which are not.
//
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}
