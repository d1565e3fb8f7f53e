# LLVM, and how libraries and tools that use it are built.

set(Protobuf_USE_STATIC_LIBS ${FRIT_PORTABLE})
set(ZLIB_USE_STATIC_LIBS ${FRIT_PORTABLE})
# Debian keeps each LLVM's packages outside CMake's search path.
find_program(LLVM_CONFIG NAMES llvm-config-22 llvm-config)
if(LLVM_CONFIG)
  execute_process(COMMAND ${LLVM_CONFIG} --cmakedir OUTPUT_VARIABLE llvm_cmake
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  list(APPEND CMAKE_PREFIX_PATH ${llvm_cmake}/../mlir ${llvm_cmake})
endif()
find_package(MLIR 22.1 REQUIRED CONFIG)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
find_package(Protobuf REQUIRED)
if(FRIT_PORTABLE)
  include(FritPortable)
endif()

# LLVM's linker, which fritc uses where no compiler is installed. Its package may
# be missing; its archives come before those of LLVM.
find_library(FRIT_LLD_ELF NAMES liblldELF.a HINTS ${LLVM_LIBRARY_DIRS})
find_library(FRIT_LLD_COMMON NAMES liblldCommon.a HINTS ${LLVM_LIBRARY_DIRS})
set(FRIT_LLD 0)
if(FRIT_LLD_ELF AND FRIT_LLD_COMMON)
  set(FRIT_LLD 1)
  set(FRIT_LLD_LIBRARIES ${FRIT_LLD_ELF} ${FRIT_LLD_COMMON})
  if(NOT FRIT_PORTABLE)
    list(APPEND FRIT_LLD_LIBRARIES z zstd)
  endif()
elseif(FRIT_PORTABLE)
  message(FATAL_ERROR "The portable build needs liblld-22-dev: tools/dev/setup")
endif()

# FRIT_QUICK is for a first build. The runtime is optimized all the same, and so is
# LLVM, which does most of fritc's work. Nobody edits files in between, so more of
# the compiler's share what each reads and instantiates.
if(FRIT_QUICK)
  set(CMAKE_UNITY_BUILD ON)
  set(FRIT_QUICK_OPTIONS -O0)
endif()

# One precompiled header for everything that includes MLIR. It has nn's headers
# too, which nearly all of these files include, so it needs frit_nn_tablegen.
add_library(frit_pch OBJECT ${CMAKE_SOURCE_DIR}/tools/dev/Pch.cpp)
add_dependencies(frit_pch frit_nn_tablegen)
target_include_directories(frit_pch PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})
target_include_directories(frit_pch SYSTEM PUBLIC
  ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
target_compile_definitions(frit_pch PUBLIC ${llvm_definitions})
target_compile_options(frit_pch PUBLIC $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti -fno-exceptions>
  ${FRIT_MLIR_OPTIONS} ${FRIT_QUICK_OPTIONS})
target_precompile_headers(frit_pch PRIVATE
  $<$<COMPILE_LANGUAGE:CXX>:${CMAKE_SOURCE_DIR}/tools/dev/Pch.h>)

# frit_alone(FILES...): compiles files alone all the same, because they use
# namespace llvm, whose templates have aliases in namespace mlir.
function(frit_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# frit_library(NAME SOURCES... [LINK libraries]): a static library that may use
# MLIR. Includes are written from the repository's root.
function(frit_library name)
  cmake_parse_arguments(arg "" "" "LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_include_directories(${name} PUBLIC
    ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}/runtime/include)
  target_include_directories(${name} SYSTEM PUBLIC
    ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
  target_compile_definitions(${name} PUBLIC ${llvm_definitions})
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti -fno-exceptions>
    ${FRIT_MLIR_OPTIONS} ${FRIT_QUICK_OPTIONS})
  if(FRIT_QUICK)
    set_target_properties(${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 30)
  endif()
  target_precompile_headers(${name} REUSE_FROM frit_pch)
  target_link_libraries(${name} PUBLIC ${arg_LINK})
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
endfunction()

# frit_tool(NAME SOURCES... LINK libraries): an executable, MLIR linked in.
function(frit_tool name)
  cmake_parse_arguments(arg "" "" "LINK" ${ARGN})
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS} ${FRIT_TOOL_OBJECTS})
  # As position independent as the precompiled header, or it would go unused.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIC $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti -fno-exceptions>
    ${FRIT_QUICK_OPTIONS})
  target_precompile_headers(${name} REUSE_FROM frit_pch)
  target_link_libraries(${name} PRIVATE ${arg_LINK} ${FRIT_MLIR_LIBRARIES})
endfunction()

if(NOT FRIT_PORTABLE)
  set(FRIT_MLIR_LIBRARIES MLIR LLVM)
endif()

# Marks the file that includes a dialect's generated attributes: GCC warns of
# uninitialized optionals in their parsers.
function(frit_attributes source)
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
    $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endfunction()

# frit_tablegen(INPUT [OUTPUT FLAGS]...): runs mlir-tblgen on INPUT.td.
function(frit_tablegen input)
  set(LLVM_TARGET_DEFINITIONS ${input}.td)
  set(LLVM_TABLEGEN_FLAGS -I ${CMAKE_SOURCE_DIR})
  while(ARGN)
    list(POP_FRONT ARGN output)
    list(POP_FRONT ARGN flags)
    separate_arguments(flags)
    mlir_tablegen(${output} ${flags} EXTRA_INCLUDES ${MLIR_INCLUDE_DIRS})
  endwhile()
  set(TABLEGEN_OUTPUT ${TABLEGEN_OUTPUT} PARENT_SCOPE)
endfunction()

# frit_option_table(TARGET NAME): NAME.inc from NAME.td, a table of options, which
# mlir-tblgen does not write.
find_program(LLVM_TBLGEN llvm-tblgen HINTS ${LLVM_TOOLS_BINARY_DIR} REQUIRED)
function(frit_option_table target name)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.inc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${LLVM_TBLGEN} -gen-opt-parser-defs -I ${LLVM_INCLUDE_DIRS}
            -I ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${name}.td
            -o ${output} -d ${output}.d
    DEPENDS ${name}.td DEPFILE ${output}.d
    VERBATIM)
  add_custom_target(${target} DEPENDS ${output})
endfunction()

# What `cmake --install` copies, without the tests.
add_custom_target(frit_tools)

# frit_install_tool(TOOL): installs TOOL. Target frit_tools builds it.
function(frit_install_tool tool)
  add_dependencies(frit_tools ${tool})
  install(TARGETS ${tool} RUNTIME DESTINATION bin)
endfunction()

# frit_manual(TOOL): installs what TOOL --help=man, bash and zsh print.
function(frit_manual tool)
  set(pages)
  foreach(form man bash zsh)
    set(page ${CMAKE_CURRENT_BINARY_DIR}/${tool}.${form})
    add_custom_command(OUTPUT ${page} COMMAND ${tool} --help=${form} > ${page}
                       DEPENDS ${tool} VERBATIM)
    list(APPEND pages ${page})
  endforeach()
  add_custom_target(${tool}_manual ALL DEPENDS ${pages})
  add_dependencies(frit_tools ${tool}_manual)
  set(place ${CMAKE_CURRENT_BINARY_DIR}/${tool})
  install(FILES ${place}.man DESTINATION share/man/man1 RENAME ${tool}.1)
  install(FILES ${place}.bash RENAME ${tool}
          DESTINATION share/bash-completion/completions)
  install(FILES ${place}.zsh RENAME _${tool}
          DESTINATION share/zsh/site-functions)
endfunction()

# frit_embed(OUTPUT SYMBOL FILE...): a source file that defines the joined text of
# FILEs as `const char SYMBOL[]` in namespace frit, for `extern const char SYMBOL[]`.
function(frit_embed output symbol)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DOUTPUT=${CMAKE_CURRENT_BINARY_DIR}/${output}
            -DSYMBOL=${symbol} "-DFILES=${ARGN}"
            -P ${CMAKE_SOURCE_DIR}/tools/dev/Embed.cmake
    DEPENDS ${ARGN} ${CMAKE_SOURCE_DIR}/tools/dev/Embed.cmake VERBATIM)
endfunction()
