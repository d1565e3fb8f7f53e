# frit_add_model(target model.onnx [NAME name] [flag...])
#
# Compiles a model with fritc at build time and links it and the runtime into
# `target`. The program includes "<name>.h" and opens `<name>_image`. NAME
# defaults to the file's name without extension. All other arguments are passed
# to fritc:
#
#   frit_add_model(app net.onnx -march=sm_90a,x86-64 -fprecision=fp16)
#   frit_add_model(app net.onnx NAME net_exact -march=x86-64)
#
# A program may have any number of models with different names.
function(frit_add_model target model)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "NAME" "")
  if(TARGET fritc) # inside frit's own build
    set(FRITC $<TARGET_FILE:fritc>)
    set(dependency fritc)
  else()
    find_program(FRITC fritc
                 HINTS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../bin
                 REQUIRED DOC "The frit compiler")
    set(dependency ${FRITC})
  endif()
  get_filename_component(model ${model} ABSOLUTE)
  set(name ${arg_NAME})
  if(NOT name)
    get_filename_component(name ${model} NAME_WE)
  endif()
  # Files and symbols use the name as a C identifier.
  string(MAKE_C_IDENTIFIER "${name}" identifier)
  get_property(known TARGET ${target} PROPERTY FRIT_MODELS)
  if(identifier IN_LIST known)
    message(FATAL_ERROR "frit_add_model: '${target}' has a model named "
      "'${name}' already; give this one another name, as in "
      "frit_add_model(${target} ${model} NAME other)")
  endif()
  set_property(TARGET ${target} APPEND PROPERTY FRIT_MODELS ${identifier})
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/frit/${target})
  file(MAKE_DIRECTORY ${folder})
  set(object ${folder}/${name}.o)
  set(header ${folder}/${name}.h)
  add_custom_command(
    OUTPUT ${object} ${header}
    COMMAND ${FRITC} -c ${model} -o ${object} --header=${header}
            ${arg_UNPARSED_ARGUMENTS}
    DEPENDS ${model} ${dependency}
    COMMENT "Compiling the model ${name}"
    VERBATIM)
  set_source_files_properties(${object} PROPERTIES EXTERNAL_OBJECT TRUE)
  target_sources(${target} PRIVATE ${object} ${header})
  target_include_directories(${target} PRIVATE ${folder})
  # As target_link_libraries(app PRIVATE x), which does not go together with
  # target_link_libraries(app x).
  set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES frit::runtime)
  get_target_property(type ${target} TYPE)
  if(type MATCHES "STATIC|OBJECT")
    set_property(TARGET ${target} APPEND PROPERTY INTERFACE_LINK_LIBRARIES
                 $<LINK_ONLY:frit::runtime>)
  endif()
endfunction()
