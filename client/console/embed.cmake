# Writes assets.cpp: cmake -D FOLDER=web -D OUTPUT=assets.cpp -P embed.cmake
file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*)
set(types.html "text/html; charset=utf-8")
set(types.css "text/css; charset=utf-8")
set(types.js "text/javascript; charset=utf-8")
set(types.svg "image/svg+xml")
set(data "")
set(rows "")
set(number 0)
foreach(name IN LISTS files)
  get_filename_component(ending ${name} LAST_EXT)
  file(READ ${FOLDER}/${name} bytes HEX)
  file(SHA256 ${FOLDER}/${name} tag)
  string(LENGTH "${bytes}" length)
  math(EXPR length "${length} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n    " bytes "${bytes}")
  string(APPEND data "constexpr unsigned char k_${number}[] = {\n    ${bytes}};\n")
  string(APPEND rows "        {\"/${name}\", \"${types${ending}}\", view(k_${number}), \"\\\"${tag}\\\"\"},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Made by embed.cmake.
#include \"assets.h\"

namespace scylla::cli::console {

namespace {

${data}
template <std::size_t size> std::string_view view(const unsigned char (&bytes)[size]) {
    return {reinterpret_cast<const char *>(bytes), size};
}

} // namespace

const std::vector<asset> &assets() {
    static const std::vector<asset> all{
${rows}    };
    return all;
}

} // namespace scylla::cli::console
")
