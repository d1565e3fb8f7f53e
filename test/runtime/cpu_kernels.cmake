# `cpu_kernels_test --bench [threads]` is also the benchmark of these kernels.
add_executable(cpu_kernels_test
  ${CMAKE_CURRENT_LIST_DIR}/cpu_kernels_test.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cpu_kernels_convs.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cpu_kernels_quantized.cpp
  ${CMAKE_CURRENT_LIST_DIR}/cpu_kernels_bench.cpp)
target_include_directories(cpu_kernels_test PRIVATE ${CMAKE_SOURCE_DIR})
target_compile_options(cpu_kernels_test PRIVATE -Wno-missing-field-initializers)
target_link_libraries(cpu_kernels_test PRIVATE frit::runtime)
add_test(NAME cpu_kernels COMMAND cpu_kernels_test)
set_tests_properties(cpu_kernels PROPERTIES LABELS check)

# The kernels for AMX, which few processors have, on tiles of the test's own.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  add_executable(amx_test
    ${CMAKE_CURRENT_LIST_DIR}/amx_test.cpp
    ${CMAKE_CURRENT_LIST_DIR}/cpu_kernels_quantized.cpp)
  target_include_directories(amx_test PRIVATE ${CMAKE_SOURCE_DIR})
  target_compile_options(amx_test PRIVATE -Wno-missing-field-initializers)
  target_link_libraries(amx_test PRIVATE frit::runtime)
  add_test(NAME amx COMMAND amx_test)
  set_tests_properties(amx PROPERTIES LABELS check SKIP_RETURN_CODE 77)
endif()
