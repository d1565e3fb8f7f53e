//===- nvrtc.cpp - A CUDA compiler that does not compile ------------------===//
//
// What fritc calls of NVRTC where FRIT_NVRTC names this library: the machine
// code that it makes is the text itself, between two lines that emulate.py
// finds in the artifact. An artifact then takes fritc's own time only.
//
//===----------------------------------------------------------------------===//

#include <cstddef>
#include <cstring>
#include <string>

#define API extern "C" __attribute__((visibility("default")))

static constexpr int kSuccess = 0;
static constexpr char kLog[] = "";
static constexpr char kPtx[] = "// The emulator has no PTX.\n";

/// What has been compiled: the text with its marks.
struct Program {
  std::string code;
};

API int nvrtcVersion(int *major, int *minor) {
  *major = *minor = 0;
  return kSuccess;
}

API const char *nvrtcGetErrorString(int) { return "no error"; }

API int nvrtcCreateProgram(Program **program, const char *text, const char *,
                           int, const char *const *, const char *const *) {
  *program = new Program{std::string("// emulated text\n") + text +
                         "// end of emulated text\n"};
  return kSuccess;
}

API int nvrtcDestroyProgram(Program **program) {
  delete *program;
  *program = nullptr;
  return kSuccess;
}

API int nvrtcCompileProgram(Program *, int, const char *const *) {
  return kSuccess;
}

API int nvrtcGetProgramLogSize(Program *, size_t *size) {
  *size = sizeof(kLog);
  return kSuccess;
}

API int nvrtcGetProgramLog(Program *, char *log) {
  memcpy(log, kLog, sizeof(kLog));
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
