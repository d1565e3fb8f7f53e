# Sources of the CPU contractions. Each instruction set is its own unit. They
# are optimized in every build type, because tests and examples run them.
set(FRIT_CPU_SOURCES
  cpu/Contraction.cpp
  cpu/Conv.cpp
  cpu/Depthwise.cpp
  cpu/Gemm.cpp
  cpu/MicroKernelAvx2.cpp
  cpu/MicroKernelAvx512.cpp
  cpu/MicroKernelSse2.cpp
  cpu/MicroKernelVnni.cpp
  cpu/PaddedInput.cpp
  cpu/QuantizedConv.cpp
  cpu/QuantizedFilters.cpp
  cpu/ThreadPool.cpp)

set(kernel_options -O2 -ftree-vectorize
  $<$<CXX_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>
  -ffp-contract=fast -fno-math-errno -fno-trapping-math
  -fno-asynchronous-unwind-tables)
set_source_files_properties(cpu/MicroKernelSse2.cpp PROPERTIES
  COMPILE_OPTIONS "${kernel_options}")
set_source_files_properties(cpu/MicroKernelAvx2.cpp PROPERTIES
  COMPILE_OPTIONS "${kernel_options};-mavx2;-mfma;-mf16c")
set_source_files_properties(cpu/MicroKernelAvx512.cpp PROPERTIES
  COMPILE_OPTIONS
  "${kernel_options};-mavx2;-mfma;-mf16c;-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mprefer-vector-width=512")
set_source_files_properties(cpu/MicroKernelVnni.cpp PROPERTIES
  COMPILE_OPTIONS
  "${kernel_options};-mavx2;-mfma;-mf16c;-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mavx512vnni;-mprefer-vector-width=512")
