# leasehold_embed(OUTPUT FOLDER ...) adds a build step that writes OUTPUT: C++ with the files of these
# folders, plain and compressed, as src/server/http/assets.hpp declares them. The URL of a file is
# /FOLDER/FILE, where FOLDER is the last part of its path; index.html is at /.
#
# A page at / is packed, so that it loads in few requests:
# 1. its style sheets become one, in the order in which the page names them;
# 2. every module of its folder gets a modulepreload link, so that the browser asks for all of them at
#    once instead of finding one import after another.
#
# The build runs this file again as a script, whenever one of the files has changed.
set(leasehold_embed_suffixes html js css svg ts)
set(leasehold_embed_html "text/html; charset=utf-8")
set(leasehold_embed_js "text/javascript; charset=utf-8")
set(leasehold_embed_css "text/css; charset=utf-8")
set(leasehold_embed_svg "image/svg+xml")
set(leasehold_embed_ts "text/plain; charset=utf-8")

function(leasehold_embed output)
    set(files)
    foreach(folder IN LISTS ARGN)
        foreach(suffix IN LISTS leasehold_embed_suffixes)
            file(GLOB found CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/${folder}/*.${suffix}")
            list(APPEND files ${found})
        endforeach()
    endforeach()
    add_custom_command(OUTPUT "${output}"
        COMMAND "${CMAKE_COMMAND}" "-DOUTPUT=${output}" "-DFILES=${files}"
                -P "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
        DEPENDS ${files} "${CMAKE_CURRENT_FUNCTION_LIST_FILE}"
        COMMENT "Embedding the files of ${ARGN}" VERBATIM)
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE STREQUAL CMAKE_CURRENT_LIST_FILE)
    return()
endif()

# Sets `gzip` to the compressed text as C++ of a string_view. The bytes depend on nothing but the text.
function(compress text gzip)
    file(WRITE "${OUTPUT}.plain" "${text}")
    file(ARCHIVE_CREATE OUTPUT "${OUTPUT}.gz" PATHS "${OUTPUT}.plain"
        FORMAT raw COMPRESSION GZip COMPRESSION_LEVEL 9)
    file(SIZE "${OUTPUT}.gz" size)
    file(READ "${OUTPUT}.gz" hex HEX)
    file(REMOVE "${OUTPUT}.plain" "${OUTPUT}.gz")
    # Bytes 4 to 7 are the time of compression: always 0.
    string(SUBSTRING "${hex}" 0 8 start)
    string(SUBSTRING "${hex}" 16 -1 rest)
    string(REGEX REPLACE "(..)" "\\\\x\\1" hex "${start}00000000${rest}")
    set(${gzip} "std::string_view{\"${hex}\", ${size}}" PARENT_SCOPE)
endfunction()

function(embed url suffix text)
    string(SHA256 hash "${text}")
    string(SUBSTRING "${hash}" 0 32 hash)
    compress("${text}" gzip)
    file(APPEND "${OUTPUT}.part" "    {.path = \"${url}\",\n"
        "     .content_type = \"${leasehold_embed_${suffix}}\",\n"
        "     .plain = {.etag = \"\\\"${hash}\\\"\", .body = R\"~asset~(${text})~asset~\"},\n"
        "     .gzip = {.etag = \"\\\"${hash}-gzip\\\"\", .body = ${gzip}}},\n")
endfunction()

# Embeds a page and its one style sheet. Sets `packed` to the files that are now embedded.
function(embed_page file packed)
    cmake_path(GET file PARENT_PATH path)
    cmake_path(GET path FILENAME folder)
    file(READ "${file}" page)
    set(sheet)
    set(embedded "${file}")
    string(REGEX MATCHALL "/${folder}/[^\"/]+\\.css" links "${page}")
    foreach(link IN LISTS links)
        cmake_path(GET link FILENAME name)
        file(READ "${path}/${name}" text)
        string(APPEND sheet "${text}")
        list(APPEND embedded "${path}/${name}")
    endforeach()
    set(head "    <link rel=\"stylesheet\" href=\"/${folder}/${folder}.css\" />\n")
    foreach(module IN LISTS FILES)
        if(module MATCHES "/${folder}/([^/]+\\.js)$")
            string(APPEND head "    <link rel=\"modulepreload\" href=\"/${folder}/${CMAKE_MATCH_1}\" />\n")
        endif()
    endforeach()
    string(REGEX REPLACE "( *<link rel=\"stylesheet\"[^\n]*\n)+" "${head}" page "${page}")
    embed("/" html "${page}")
    embed("/${folder}/${folder}.css" css "${sheet}")
    set(${packed} "${embedded}" PARENT_SCOPE)
endfunction()

file(WRITE "${OUTPUT}.part" [[
#include "server/http/assets.hpp"

namespace leasehold::server {
namespace {

constexpr Asset files[]{
]])
set(pages ${FILES})
list(FILTER pages INCLUDE REGEX "/index\\.html$")
foreach(page IN LISTS pages)
    embed_page("${page}" packed)
    list(REMOVE_ITEM FILES ${packed})
endforeach()
foreach(file IN LISTS FILES)
    cmake_path(GET file FILENAME name)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    cmake_path(GET file EXTENSION LAST_ONLY suffix)
    string(REPLACE "." "" suffix "${suffix}")
    file(READ "${file}" text)
    embed("/${folder}/${name}" ${suffix} "${text}")
endforeach()
file(APPEND "${OUTPUT}.part" [[
};

}  // namespace

const std::span<const Asset> assets{files};

}  // namespace leasehold::server
]])
file(RENAME "${OUTPUT}.part" "${OUTPUT}")
