//===- Sanitize.cpp - Options of the address sanitizer --------------------===//
//
// LLVM's allocators poison memory in headers, which are instrumented here, and
// unpoison it in libraries, which are not. So user poisoning is off.
//
//===----------------------------------------------------------------------===//

extern "C" const char *__asan_default_options() {
  return "allow_user_poisoning=0";
}
