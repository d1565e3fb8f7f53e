# cmake -DOUTPUT=Headers.cpp "-DHEADERS=a.cuh;b.cuh" -DTUNING=a.tune
#   -P EmbedHeaders.cmake
# Writes the device headers and the schedules that frit comes with as strings.
set(text "#include \"codegen/cuda/compile/Headers.h\"\n\n")
string(APPEND text "static const frit::cuda::DeviceHeader kHeaders[] = {\n")
foreach(header IN LISTS HEADERS)
  get_filename_component(name ${header} NAME)
  file(READ ${header} content)
  string(APPEND text "    {\"frit/${name}\", R\"__frit__(${content})__frit__\"},\n")
endforeach()
string(APPEND text "};\n\nllvm::ArrayRef<frit::cuda::DeviceHeader> "
                   "frit::cuda::deviceHeaders() {\n  return kHeaders;\n}\n")
file(READ ${TUNING} content)
string(APPEND text "\nllvm::StringRef frit::cuda::shippedTuning() {\n"
                   "  return R\"__frit__(${content})__frit__\";\n}\n")
file(WRITE ${OUTPUT} "${text}")
