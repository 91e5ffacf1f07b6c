# leasehold_client_files(OUTPUT) writes OUTPUT: C++ with the modules of web/client, as
# src/web/embedded_files.hpp declares them. Runs again when one of them has changed.
function(leasehold_client_files output)
    file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/web/client/*.js")
    list(FILTER files EXCLUDE REGEX "/demo\\.js$")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
    set(LEASEHOLD_FILES)
    foreach(file IN LISTS files)
        cmake_path(GET file FILENAME name)
        file(READ "${file}" text)
        string(APPEND LEASEHOLD_FILES "    {.path = \"/client/${name}\",\n"
            "     .content_type = \"text/javascript; charset=utf-8\",\n"
            "     .body = R\"~file~(${text})~file~\"},\n")
    endforeach()
    configure_file("${PROJECT_SOURCE_DIR}/src/web/embedded_files.cpp.in" "${output}" @ONLY)
endfunction()
