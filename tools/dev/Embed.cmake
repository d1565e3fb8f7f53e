# cmake -DOUTPUT=x.cpp -DSYMBOL=x "-DFILES=a;b" -P Embed.cmake
# Writes a source file that defines the joined text of FILES.
set(text "namespace frit {\nextern const char ${SYMBOL}[];\nconst char ${SYMBOL}[] =\n")
foreach(file IN LISTS FILES)
  file(READ ${file} content)
  string(APPEND text "R\"__frit__(${content})__frit__\"\n")
endforeach()
file(WRITE ${OUTPUT} "${text};\n} // namespace frit\n")
