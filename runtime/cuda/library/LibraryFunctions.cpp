//===- LibraryFunctions.cpp - Functions of an open library ----------------===//

#include "runtime/cuda/library/Library.h"
#include "runtime/system/System.h"

#include <cstring>

using namespace frit::cuda;
namespace os = frit::system;

bool frit::cuda::findFunctions(
    void *library, std::initializer_list<LibraryFunction> functions) {
  bool complete = true;
  for (const LibraryFunction &function : functions) {
    void *address = os::findSymbol(library, function.name);
    memcpy(function.pointer, &address, sizeof address);
    complete &= address != nullptr;
  }
  return complete;
}

Library::~Library() {
  if (handle)
    os::closeLibrary(handle);
}
