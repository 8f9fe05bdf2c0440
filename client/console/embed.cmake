# Writes assets.cpp: cmake -D FOLDER=web -D OUTPUT=assets.cpp -P embed.cmake
cmake_minimum_required(VERSION 3.25)

# One script of all modules: a browser that opens a page asks once. Each module becomes a function that is called at once, and
# returns what it exports, behind those that it imports.
function(add_module name)
  get_property(known GLOBAL PROPERTY modules)
  if(name IN_LIST known)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY modules ${name})
  file(READ ${FOLDER}/${name}.js text)
  string(REGEX MATCHALL "from \"\\./[a-z_]+\\.js\"" imports "${text}")
  foreach(import IN LISTS imports)
    string(REGEX REPLACE "from \"\\./(.*)\\.js\"" "\\1" other "${import}")
    add_module(${other})
  endforeach()
  string(REGEX MATCHALL "\nexport [a-z ]+ [A-Za-z_]+" exports "\n${text}")
  list(TRANSFORM exports REPLACE ".* " "")
  list(JOIN exports ", " exports)
  string(REGEX REPLACE "import {([^}]*)} from \"\\./([a-z_]+)\\.js\";" "const {\\1} = module_\\2;" text "${text}")
  string(REGEX REPLACE "\nexport " "\n" text "\n${text}")
  if(text MATCHES "\n(import|export) ")
    message(FATAL_ERROR "${name}.js has an import or export that embed.cmake does not know")
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY bundle "const module_${name} = (() => {${text}return { ${exports} };\n})();\n")
endfunction()
add_module(app)
get_property(bundle GLOBAL PROPERTY bundle)
file(WRITE ${OUTPUT}.web/app.js "${bundle}")

file(GLOB files RELATIVE ${FOLDER} ${FOLDER}/*.html ${FOLDER}/*.css ${FOLDER}/*.svg)
list(APPEND files app.js)
set(types.html "text/html; charset=utf-8")
set(types.css "text/css; charset=utf-8")
set(types.js "text/javascript; charset=utf-8")
set(types.svg "image/svg+xml")
set(data "")
set(rows "")
set(number 0)
foreach(name IN LISTS files)
  get_filename_component(ending ${name} LAST_EXT)
  set(from ${FOLDER})
  if(name STREQUAL "app.js")
    set(from ${OUTPUT}.web)
  endif()
  file(READ ${from}/${name} bytes HEX)
  file(SHA256 ${from}/${name} tag)
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
