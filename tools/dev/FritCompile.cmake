# Compile and link settings of all of frit.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
# Installed tools find LLVM's libraries where the build found them.
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE ccache)
if(CCACHE)
  # Identify the precompiled header by content, not by time stamp. Keep its hash
  # by inode and take headers from the compiler's list of dependencies: hashing
  # 600 MB and preprocessing took 2 of 6 s per file.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_INODECACHE=1 CCACHE_DEPEND=1
      ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD AND NOT CMAKE_CROSSCOMPILING)
  add_link_options(-fuse-ld=mold)
endif()
add_link_options(-Wl,--gc-sections)
add_compile_options(-Wall -Wextra -Wno-unused-parameter
                    -Wno-missing-field-initializers # members have defaults
                    -ffunction-sections -fdata-sections)
if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  # GCC's std::stable_sort uses what is deprecated. The cache knows the
  # precompiled header by its contents.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-deprecated-declarations>
                      "SHELL:-Xclang -fno-pch-timestamp")
endif()
if(FRIT_SANITIZE)
  # Every finding is fatal, undefined behaviour included. Files that include
  # MLIR omit the checks of every pointer access, which double their code; the
  # address sanitizer catches most of those errors.
  # The runtime has no type information, which checks of virtual tables need.
  add_compile_options(-fsanitize=address,undefined -fno-omit-frame-pointer
                      -fno-sanitize-recover=undefined -fno-sanitize=vptr)
  add_link_options(-fsanitize=address,undefined)
  set(FRIT_MLIR_OPTIONS -fno-sanitize=null,alignment,object-size)
  add_library(frit_sanitize OBJECT ${CMAKE_SOURCE_DIR}/tools/dev/Sanitize.cpp)
  set(FRIT_TOOL_OBJECTS $<TARGET_OBJECTS:frit_sanitize>)
  # Python loads instrumented libraries, so it needs the sanitizers too. Ignore
  # its leaks and those of cc.
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libasan.so
                  OUTPUT_VARIABLE asan OUTPUT_STRIP_TRAILING_WHITESPACE)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libubsan.so
                  OUTPUT_VARIABLE ubsan OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(FRIT_PYTHON_ENVIRONMENT "LD_PRELOAD=${asan}:${ubsan}"
      "ASAN_OPTIONS=detect_leaks=0:allow_user_poisoning=0")
endif()
if(FRIT_SANITIZE_THREADS)
  add_compile_options(-fsanitize=thread)
  add_link_options(-fsanitize=thread)
endif()
if(FRIT_SANITIZE OR FRIT_SANITIZE_THREADS)
  # A sanitizer's library makes the program's calls of dlopen, so the program's
  # RUNPATH does not count for them; its RPATH does.
  add_link_options(-Wl,--disable-new-dtags)
endif()
if(FRIT_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# With FRIT_UNITY, several files of a library or tool are compiled as one. They
# share the 4 to 5 s that each would take to read MLIR's and nn's headers and to
# instantiate what those use. File-local names must not collide within a target.
set(CMAKE_UNITY_BUILD ${FRIT_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)

find_package(Threads REQUIRED)
if(CMAKE_CROSSCOMPILING)
  # A header of this machine, without the headers beside it.
  find_path(json nlohmann/json.hpp NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  set(headers ${CMAKE_BINARY_DIR}/headers)
  file(MAKE_DIRECTORY ${headers})
  file(CREATE_LINK ${json}/nlohmann ${headers}/nlohmann SYMBOLIC)
  add_library(nlohmann_json::nlohmann_json INTERFACE IMPORTED)
  target_include_directories(nlohmann_json::nlohmann_json INTERFACE ${headers})
else()
  find_package(nlohmann_json REQUIRED)
endif()
