# leasehold_library(NAME HEADERS ... [SOURCES ...] [LINKS ...] [PRIVATE_LINKS ...] [FINDS ...] [PKG_CONFIG ...])
#   One box of the design: target leasehold_NAME (the whole library is just `leasehold`), used as
#   leasehold::NAME, and a component of the installed package. HEADERS are below include/leasehold; tests/package
#   compiles each on its own. Without SOURCES the library is headers alone. BUILD_SHARED_LIBS chooses static or shared.
#
#   Who links a static library or headers alone needs the libraries behind them too:
#   FINDS        the packages with their targets, each as the arguments of find_dependency: "Boost COMPONENTS json"
#   PKG_CONFIG   the modules of pkg-config, or the linker flag of a library that has none: sqlite3 -lboost_json
function(leasehold_library name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;SOURCES;LINKS;PRIVATE_LINKS;FINDS;PKG_CONFIG")
    leasehold_target_of(${name} target)
    list(TRANSFORM arg_HEADERS PREPEND "${PROJECT_SOURCE_DIR}/include/leasehold/")

    if(arg_SOURCES)
        add_library(${target} ${arg_SOURCES})
        set(scope PUBLIC)
        target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src")
        target_link_libraries(${target} PRIVATE ${arg_PRIVATE_LINKS})
    else()
        add_library(${target} INTERFACE)
        set(scope INTERFACE)
    endif()
    add_library(leasehold::${name} ALIAS ${target})
    target_sources(${target} ${scope} FILE_SET HEADERS
        BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${arg_HEADERS})
    target_compile_features(${target} ${scope} cxx_std_23)
    target_link_libraries(${target} ${scope} ${arg_LINKS})

    # leasehold-config.cmake defines leasehold::leasehold.
    set(export_name ${name})
    if(name STREQUAL "leasehold")
        set(export_name open_store)
    endif()
    # A minor version may change the ABI, as long as the major version is 0.
    set_target_properties(${target} PROPERTIES
        EXPORT_NAME ${export_name}
        DEFINE_SYMBOL ""  # static and shared are compiled alike
        VERSION ${PROJECT_VERSION}
        SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
        LEASEHOLD_FINDS "${arg_FINDS}"
        LEASEHOLD_PKG_CONFIG "${arg_PKG_CONFIG}")

    get_target_property(type ${target} TYPE)
    if(type STREQUAL "SHARED_LIBRARY")
        set(exports "${PROJECT_SOURCE_DIR}/cmake/leasehold.map")
        target_link_options(${target} PRIVATE "LINKER:--version-script=${exports}")
        set_target_properties(${target} PROPERTIES LINK_DEPENDS "${exports}")
        leasehold_find_libraries_from(${target} "$ORIGIN")
    endif()
endfunction()

# leasehold_find_libraries_from(TARGET PATH): once installed, TARGET looks for the shared libraries in PATH, unless the
# one who builds has chosen CMAKE_INSTALL_RPATH.
function(leasehold_find_libraries_from target path)
    if(BUILD_SHARED_LIBS AND NOT DEFINED CMAKE_INSTALL_RPATH)
        set_target_properties(${target} PROPERTIES INSTALL_RPATH "${path}")
    endif()
endfunction()

function(leasehold_target_of name result)
    set(target leasehold_${name})
    if(name STREQUAL "leasehold")
        set(target leasehold)
    endif()
    set(${result} ${target} PARENT_SCOPE)
endfunction()

# leasehold_component(NAME): what users of the component need. Sets
#   type         of its target
#   shared       whether its users leave the libraries behind it to it
#   components   the other components it links
#   finds, pkg_config   see leasehold_library
function(leasehold_component name)
    leasehold_target_of(${name} target)
    get_target_property(type ${target} TYPE)
    set(shared FALSE)
    if(type STREQUAL "SHARED_LIBRARY")
        set(shared TRUE)
    endif()
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
    list(FILTER links INCLUDE REGEX "^leasehold::")
    list(TRANSFORM links REPLACE "^leasehold::" "")
    get_target_property(finds ${target} LEASEHOLD_FINDS)
    get_target_property(pkg_config ${target} LEASEHOLD_PKG_CONFIG)
    foreach(variable IN ITEMS finds pkg_config)
        if(NOT ${variable})
            set(${variable})
        endif()
    endforeach()
    set(type ${type} PARENT_SCOPE)
    set(shared ${shared} PARENT_SCOPE)
    set(components ${links} PARENT_SCOPE)
    set(finds "${finds}" PARENT_SCOPE)
    set(pkg_config "${pkg_config}" PARENT_SCOPE)
endfunction()

# leasehold_install(NAME ...): installs the libraries as a package with one component each. Those that a library links
# come before it. The static and the shared libraries of two builds can be installed into one prefix.
function(leasehold_install)
    include(CMakePackageConfigHelpers)
    set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/leasehold")
    set(kind static)
    if(BUILD_SHARED_LIBS)
        set(kind shared)
    endif()
    set(LEASEHOLD_NEEDS)
    foreach(name IN LISTS ARGN)
        leasehold_target_of(${name} target)
        install(TARGETS ${target} EXPORT leasehold-${kind}-${name}
            ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
            LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
            FILE_SET HEADERS)
        install(EXPORT leasehold-${kind}-${name} NAMESPACE leasehold:: DESTINATION "${package_dir}")
        leasehold_component(${name})
        set(all_of_${name})
        foreach(component IN LISTS components)
            list(APPEND all_of_${name} ${all_of_${component}} ${component})
        endforeach()
        list(REMOVE_DUPLICATES all_of_${name})
        list(JOIN all_of_${name} " " all)
        string(APPEND LEASEHOLD_NEEDS "set(leasehold_components_of_${name} ${all})\n")
        list(TRANSFORM finds REPLACE "(.+)" "\"\\1\"")
        list(JOIN finds " " finds)
        string(APPEND LEASEHOLD_NEEDS "set(leasehold_packages_of_${name} ${finds})\n")
        if(type STREQUAL "INTERFACE_LIBRARY")
            string(APPEND LEASEHOLD_NEEDS "set(leasehold_headers_alone_of_${name} TRUE)\n")
        endif()
        leasehold_install_pkgconfig(${name})
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
endfunction()

# leasehold_install_pkgconfig(NAME): leasehold_NAME.pc (the whole library: leasehold.pc), for builds without CMake.
function(leasehold_install_pkgconfig name)
    leasehold_component(${name})
    leasehold_target_of(${name} LEASEHOLD_PC_NAME)
    set(modules ${pkg_config})
    list(FILTER modules EXCLUDE REGEX "^-")
    set(flags ${pkg_config})
    list(FILTER flags INCLUDE REGEX "^-")
    list(TRANSFORM components PREPEND leasehold_)
    set(LEASEHOLD_PC_REQUIRES ${components})
    set(LEASEHOLD_PC_LIBS)
    if(NOT type STREQUAL "INTERFACE_LIBRARY")
        set(LEASEHOLD_PC_LIBS "-L\${libdir}" -l${LEASEHOLD_PC_NAME})
    endif()
    # The static libraries may be installed beside the shared ones. `pkg-config --static` needs what is behind them.
    # Requires.private would name it, but then every user must have it.
    set(LEASEHOLD_PC_LIBS_PRIVATE)
    if(NOT shared)
        list(APPEND LEASEHOLD_PC_REQUIRES ${modules})
        list(APPEND LEASEHOLD_PC_LIBS ${flags})
    else()
        if(modules)
            find_package(PkgConfig REQUIRED)
            execute_process(COMMAND "${PKG_CONFIG_EXECUTABLE}" --libs-only-l ${modules}
                OUTPUT_VARIABLE LEASEHOLD_PC_LIBS_PRIVATE OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
        endif()
        list(APPEND LEASEHOLD_PC_LIBS_PRIVATE ${flags})
    endif()
    if(name STREQUAL "core")
        list(APPEND LEASEHOLD_PC_LIBS -pthread)
    endif()
    list(JOIN LEASEHOLD_PC_REQUIRES ", " LEASEHOLD_PC_REQUIRES)
    list(JOIN LEASEHOLD_PC_LIBS " " LEASEHOLD_PC_LIBS)
    list(JOIN LEASEHOLD_PC_LIBS_PRIVATE " " LEASEHOLD_PC_LIBS_PRIVATE)
    # Relative to the file itself, so that the prefix can be chosen when installing.
    cmake_path(SET here "/prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig")
    cmake_path(RELATIVE_PATH here BASE_DIRECTORY "/prefix" OUTPUT_VARIABLE below)
    string(REGEX REPLACE "[^/]+" ".." LEASEHOLD_PC_UP "${below}")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/leasehold.pc.in"
        "${PROJECT_BINARY_DIR}/${LEASEHOLD_PC_NAME}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${LEASEHOLD_PC_NAME}.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
