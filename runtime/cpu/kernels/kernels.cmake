# Sources of the CPU contractions. Each instruction set is its own unit. They
# are optimized in every build type, because tests and examples run them.
set(FRIT_CPU_SOURCES
  cpu/kernels/Contraction.cpp
  cpu/kernels/Conv.cpp
  cpu/kernels/Depthwise.cpp
  cpu/kernels/Gemm.cpp
  cpu/kernels/InstructionSets.cpp
  cpu/kernels/PaddedInput.cpp
  cpu/kernels/PixelPieces.cpp
  cpu/kernels/Pixels.cpp
  cpu/kernels/QuantizedConv.cpp
  cpu/kernels/QuantizedFilters.cpp)

# frit_kernels(NAME FLAGS...): adds the kernels of an instruction set.
macro(frit_kernels name)
  list(APPEND FRIT_CPU_SOURCES cpu/kernels/MicroKernel${name}.cpp)
  set_source_files_properties(cpu/kernels/MicroKernel${name}.cpp PROPERTIES
    COMPILE_OPTIONS "-O2;-ftree-vectorize;$<$<CXX_COMPILER_ID:GNU>:-fvect-cost-model=dynamic>;-ffp-contract=fast;-fno-math-errno;-fno-trapping-math;-fno-asynchronous-unwind-tables;${ARGN}")
endmacro()

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  frit_kernels(Neon)
  frit_kernels(I8mm -march=armv8.2-a+i8mm)
else()
  set(avx2 -mavx2 -mfma -mf16c)
  set(avx512 ${avx2} -mavx512f -mavx512bw -mavx512dq -mavx512vl)
  if(MINGW)
    # The stack is aligned to 16 bytes only.
    list(APPEND avx2 -Wa,-muse-unaligned-vector-move)
    list(APPEND avx512 -Wa,-muse-unaligned-vector-move)
  endif()
  frit_kernels(Sse2)
  frit_kernels(Avx2 ${avx2})
  frit_kernels(Avx512 ${avx512} -mprefer-vector-width=512)
  frit_kernels(Vnni ${avx512} -mavx512vnni -mprefer-vector-width=512)
  frit_kernels(Amx -mamx-tile -mamx-int8)
endif()
