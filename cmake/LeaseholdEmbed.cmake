# leasehold_embed(OUTPUT FOLDER ...): OUTPUT is C++ that holds the files of these folders as text,
# see src/server/http/assets.hpp. A file's URL is /FOLDER/FILE, without the folders above; index.html is /.
# Run as a script by that same build, when a file changes.
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

set(code)
foreach(file IN LISTS FILES)
    cmake_path(GET file FILENAME name)
    cmake_path(GET file PARENT_PATH folder)
    cmake_path(GET folder FILENAME folder)
    set(url "/${folder}/${name}")
    if(name STREQUAL "index.html")
        set(url "/")
    endif()
    cmake_path(GET file EXTENSION LAST_ONLY suffix)
    string(REPLACE "." "" suffix "${suffix}")
    file(SHA256 "${file}" hash)
    string(SUBSTRING "${hash}" 0 32 hash)
    file(READ "${file}" text)
    string(APPEND code "    {\"${url}\", \"${leasehold_embed_${suffix}}\", \"\\\"${hash}\\\"\",\n"
        "     R\"~asset~(${text})~asset~\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"server/http/assets.hpp\"

namespace leasehold::server {
namespace {

constexpr Asset files[]{
${code}};

}  // namespace

const std::span<const Asset> assets{files};

}  // namespace leasehold::server
")
