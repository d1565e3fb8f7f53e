# Links everything but the C library statically, for tools/dev/bundle.
#
# LLVM's CMake targets pull in shared libraries (LLVM itself, zlib, zstd, z3,
# xml2), so this lists its archives instead. mold and lld accept archives in any
# order.

if(NOT MOLD)
  message(FATAL_ERROR "The portable build needs the linker mold: tools/dev/setup")
endif()

get_property(mlir_targets GLOBAL PROPERTY MLIR_ALL_LIBS)
set(FRIT_MLIR_LIBRARIES)
foreach(target IN LISTS mlir_targets LLVM_AVAILABLE_LIBS)
  if(TARGET ${target})
    get_target_property(archive ${target} LOCATION)
    # The CMake package lists libraries that are not installed.
    if(archive MATCHES "\\.a$" AND EXISTS ${archive})
      list(APPEND FRIT_MLIR_LIBRARIES ${archive})
    endif()
  endif()
endforeach()
foreach(name z zstd)
  find_library(FRIT_STATIC_${name} NAMES lib${name}.a REQUIRED)
  list(APPEND FRIT_MLIR_LIBRARIES ${FRIT_STATIC_${name}})
endforeach()
list(APPEND FRIT_MLIR_LIBRARIES Threads::Threads ${CMAKE_DL_LIBS})

add_link_options(-static-libstdc++ -static-libgcc -Wl,--icf=all)

# Part of every program and shared library, so it is compiled before all else.
set(portable ${CMAKE_BINARY_DIR}/Portable.o)
execute_process(
  COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -O2 -fPIC -fvisibility=hidden
          -c ${CMAKE_SOURCE_DIR}/tools/dev/Portable.cpp -o ${portable}
  COMMAND_ERROR_IS_FATAL ANY)
set_property(DIRECTORY APPEND PROPERTY
  CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/dev/Portable.cpp)
add_link_options(${portable})
