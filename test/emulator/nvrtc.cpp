//===- nvrtc.cpp - Emulated NVRTC, which keeps the CUDA text --------------===//
//
// Replaces NVRTC if FRIT_NVRTC names this library. Its "machine code" is the
// CUDA text itself between two lines that emulate.py finds in the artifact, so
// compiling takes no time. The first line names the architecture, without an
// architecture-specific suffix.
//
// Compiling a text with the kernel FRIT_EMULATED_NVRTC_REFUSES fails.
//
//===----------------------------------------------------------------------===//

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

#define API extern "C" __attribute__((visibility("default")))

static constexpr int kSuccess = 0, kCompilationError = 6;
static constexpr char kPtx[] = "// The emulator has no PTX.\n";

/// The input text and the result: the text with its marks, or a log.
struct Program {
  std::string text, code, log;
};

API int nvrtcVersion(int *major, int *minor) {
  *major = *minor = 0;
  return kSuccess;
}

API const char *nvrtcGetErrorString(int result) {
  return result == kSuccess ? "no error" : "NVRTC_ERROR_COMPILATION";
}

API int nvrtcCreateProgram(Program **program, const char *text, const char *,
                           int, const char *const *, const char *const *) {
  *program = new Program{text, "", ""};
  return kSuccess;
}

API int nvrtcDestroyProgram(Program **program) {
  delete *program;
  *program = nullptr;
  return kSuccess;
}

API int nvrtcCompileProgram(Program *program, int count,
                            const char *const *options) {
  std::string arch;
  for (int i = 0; i < count; ++i)
    if (!strncmp(options[i], "-arch=", 6))
      arch = options[i] + 6;
  arch.erase(arch.find_last_not_of("af") + 1);
  program->code = "// emulated text " + arch + "\n" + program->text +
                  "// end of emulated text\n";
  const char *refused = getenv("FRIT_EMULATED_NVRTC_REFUSES");
  if (!refused)
    return kSuccess;
  size_t at = program->text.find(std::string(refused) + "(");
  if (at == std::string::npos)
    return kSuccess;
  auto before = program->text.begin();
  auto line = 1 + std::count(before, before + ptrdiff_t(at), '\n');
  program->log = "frit.cu(" + std::to_string(line) + "): error: refused";
  return kCompilationError;
}

API int nvrtcGetProgramLogSize(Program *program, size_t *size) {
  *size = program->log.size() + 1;
  return kSuccess;
}

API int nvrtcGetProgramLog(Program *program, char *log) {
  memcpy(log, program->log.c_str(), program->log.size() + 1);
  return kSuccess;
}

API int nvrtcGetCUBINSize(Program *program, size_t *size) {
  *size = program->code.size();
  return kSuccess;
}

API int nvrtcGetCUBIN(Program *program, char *code) {
  memcpy(code, program->code.data(), program->code.size());
  return kSuccess;
}

API int nvrtcGetPTXSize(Program *, size_t *size) {
  *size = sizeof(kPtx);
  return kSuccess;
}

API int nvrtcGetPTX(Program *, char *ptx) {
  memcpy(ptx, kPtx, sizeof(kPtx));
  return kSuccess;
}
