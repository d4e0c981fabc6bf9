# kgraded_documents(OUTPUT NAME FILE...): writes a C file that holds each file byte for byte as the array NAME, with its
# size as NAME_size (http/documents.h).
function(kgraded_documents output)
  set(text "/* Made by CMake. */\n#include \"${CMAKE_CURRENT_SOURCE_DIR}/http/documents.h\"\n")
  while(ARGN)
    list(POP_FRONT ARGN name file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} bytes HEX)
    string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(APPEND text "\nconst unsigned char ${name}[] = {\n${bytes}\n};\n"
                       "const size_t ${name}_size = sizeof ${name};\n")
  endwhile()
  file(CONFIGURE OUTPUT ${output} CONTENT "${text}" @ONLY)
endfunction()
