# The files of a folder, compressed, as a source: cmake -D FOLDER=web/dist -D OUT=page_files.cc -P embed_page.cmake. The assembler
# takes the bytes as they are; a compiler would need minutes for them as numbers.
find_program(GZIP gzip REQUIRED)
file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*)
list(FILTER files EXCLUDE REGEX "\\.map$")
get_filename_component(place ${OUT} DIRECTORY)
file(REMOVE_RECURSE ${place}/page)
file(MAKE_DIRECTORY ${place}/page)
set(assembly "")
set(symbols "")
set(rows "")
set(number 0)
foreach(file IN LISTS files)
  set(packed ${place}/page/${number}.gz)
  # Without name and time: the same files, the same tool.
  execute_process(COMMAND ${GZIP} -9 -n -c ${FOLDER}/${file} OUTPUT_FILE ${packed} COMMAND_ERROR_IS_FATAL ANY)
  string(APPEND assembly "    \"limpid_page_${number}: .incbin \\\"${packed}\\\"\\nlimpid_page_end_${number}: .byte 0\\n\"\n")
  string(APPEND symbols "extern const char limpid_page_${number}[], limpid_page_end_${number}[];\n")
  string(APPEND rows "      {\"${file}\", {limpid_page_${number}, limpid_page_end_${number}}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUT} "// Made by cmake/embed_page.cmake.
#include \"apps/limpid/support/page_files.h\"

__asm__(
    \".pushsection .rodata\\n\"
${assembly}    \".popsection\\n\");
extern \"C\" {
${symbols}}

namespace limpid::tool {

std::span<const PageFile> page_files() {
  static const PageFile files[] = {
${rows}  };
  return files;
}

}  // namespace limpid::tool
")
