# leasehold_library(NAME HEADERS ... SOURCES ... [LINKS ...] [PRIVATE_LINKS ...])
#   One box of the design: target leasehold_NAME (the whole library is just `leasehold`), used as
#   leasehold::NAME. HEADERS are below include/leasehold; each is compiled on its own, so that a
#   header which needs another include fails the build.
function(leasehold_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;SOURCES;LINKS;PRIVATE_LINKS")
    set(target leasehold_${name})
    if(name STREQUAL "leasehold")
        set(target leasehold)
    endif()
    list(TRANSFORM arg_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/include/leasehold/")

    add_library(${target} STATIC ${arg_SOURCES})
    add_library(leasehold::${name} ALIAS ${target})
    target_sources(${target} PUBLIC FILE_SET HEADERS
        BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${arg_HEADERS})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
    target_compile_features(${target} PUBLIC cxx_std_23)
    target_link_libraries(${target} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
    # leasehold-config.cmake defines leasehold::leasehold.
    set(export_name ${name})
    if(name STREQUAL "leasehold")
        set(export_name open_store)
    endif()
    set_target_properties(${target} PROPERTIES
        EXPORT_NAME ${export_name}
        VERIFY_INTERFACE_HEADER_SETS ${PROJECT_IS_TOP_LEVEL})
endfunction()

# leasehold_install(NAME ...): installs the libraries as a package with one component each.
function(leasehold_install)
    include(CMakePackageConfigHelpers)
    set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/leasehold")
    foreach(name IN LISTS ARGN)
        set(target leasehold_${name})
        if(name STREQUAL "leasehold")
            set(target leasehold)
        endif()
        install(TARGETS ${target} EXPORT leasehold-${name}
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" FILE_SET HEADERS)
        install(EXPORT leasehold-${name} NAMESPACE leasehold:: DESTINATION "${package_dir}")
    endforeach()
    set(LEASEHOLD_COMPONENTS ${ARGN})
    configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/leasehold-config.cmake.in"
        "${PROJECT_BINARY_DIR}/leasehold-config.cmake" INSTALL_DESTINATION "${package_dir}")
    write_basic_package_version_file("${PROJECT_BINARY_DIR}/leasehold-config-version.cmake"
        COMPATIBILITY SameMinorVersion)
    install(FILES
        "${PROJECT_BINARY_DIR}/leasehold-config.cmake"
        "${PROJECT_BINARY_DIR}/leasehold-config-version.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindMariaDBClient.cmake"
        DESTINATION "${package_dir}")
    leasehold_install_pkgconfig(${ARGN})
endfunction()

# leasehold_install_pkgconfig(NAME ...): leasehold.pc, for builds without CMake. The libraries are
# static, so that it lists all of them and everything they need.
function(leasehold_install_pkgconfig)
    set(libraries leasehold ${ARGN})
    list(REMOVE_DUPLICATES libraries)
    # A static library comes before the libraries it needs: mysql before mariadb. All need core.
    list(REMOVE_ITEM libraries leasehold core asio)
    list(REVERSE libraries)
    list(TRANSFORM libraries PREPEND "-lleasehold_")
    list(PREPEND libraries "-lleasehold")
    list(APPEND libraries "-lleasehold_core")
    set(packages)
    if("sqlite" IN_LIST ARGN)
        list(APPEND packages sqlite3)
    endif()
    if("postgres" IN_LIST ARGN)
        list(APPEND packages libpq)
    endif()
    if("mariadb" IN_LIST ARGN)
        list(APPEND packages libmariadb)
    endif()
    if("etcd" IN_LIST ARGN OR "http" IN_LIST ARGN)
        list(APPEND packages openssl)
        list(APPEND libraries "-lboost_json")  # Boost has no .pc file
    endif()
    list(APPEND libraries "-pthread")
    list(JOIN libraries " " LEASEHOLD_PC_LIBS)
    list(JOIN packages ", " LEASEHOLD_PC_REQUIRES)
    # Relative to the file itself, so that the prefix can be chosen when installing.
    cmake_path(SET here "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
    cmake_path(RELATIVE_PATH here BASE_DIRECTORY "/prefix" OUTPUT_VARIABLE below)
    string(REGEX REPLACE "[^/]+" ".." LEASEHOLD_PC_UP "${below}")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/leasehold.pc.in"
        "${PROJECT_BINARY_DIR}/leasehold.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/leasehold.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
