# Runs the commands of docs/library.md, and uses the library from projects outside the tree.
#   cmake -DBUILD=<build tree> -DSTORES=sqlite,postgres,mariadb,mysql,etcd -DWORK=<folder> -DCOMPILER=<c++>
#         -DFLAGS=<its flags> -P package_test.cmake
cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" STORES "${STORES}")
set(prefix "${WORK}/prefix")
include("${CMAKE_CURRENT_LIST_DIR}/functions.cmake")
file(REMOVE_RECURSE "${WORK}")

# read_block(SECTION LANGUAGE N RESULT): the Nth block of that language in a section of ${page}, from 1.
file(READ "${source}/docs/library.md" page)
function(read_block section language n result)
    string(FIND "${page}" "\n## ${section}\n" begin)
    if(section STREQUAL "")
        set(begin 0)
    endif()
    string(SUBSTRING "${page}" ${begin} -1 text)
    foreach(_ RANGE 1 ${n})
        string(FIND "${text}" "\n```${language}\n" begin)
        if(begin EQUAL -1)
            message(FATAL_ERROR "the page has no block ${n} of ${language} in '${section}'")
        endif()
        string(LENGTH "\n```${language}\n" length)
        math(EXPR begin "${begin} + ${length}")
        string(SUBSTRING "${text}" ${begin} -1 text)
    endforeach()
    string(FIND "${text}" "```" end)
    string(SUBSTRING "${text}" 0 ${end} text)
    set(${result} "${text}" PARENT_SCOPE)
endfunction()

# project_of_the_page(NAME LISTS): a project with the page's program in ${WORK}/NAME.
function(project_of_the_page name lists)
    file(MAKE_DIRECTORY "${WORK}/${name}")
    read_block("" cpp 1 program)
    file(WRITE "${WORK}/${name}/app.cpp" "${program}")
    file(WRITE "${WORK}/${name}/CMakeLists.txt" "${lists}")
endfunction()

# shell(NAME COMMANDS [VARIABLE=VALUE ...]): runs commands of the page in ${WORK}/NAME.
function(shell name commands)
    file(WRITE "${WORK}/commands" "${commands}")
    run("${CMAKE_COMMAND}" -E chdir "${WORK}/${name}"
        "${CMAKE_COMMAND}" -E env "LEASEHOLD=${source}" "PREFIX=${prefix}" ${ARGN} bash -eux "${WORK}/commands")
    set(output "${output}" PARENT_SCOPE)
endfunction()

set(quick "CMAKE_TOOLCHAIN_FILE=${CMAKE_CURRENT_LIST_DIR}/quick.cmake" CMAKE_GENERATOR=Ninja)

read_block("Installed, with CMake" sh 1 commands)
string(REPLACE "$LEASEHOLD/build/release" "${BUILD}" commands "${commands}")
file(MAKE_DIRECTORY "${WORK}")
shell(. "${commands}")

if(EXISTS "${BUILD}/leasehold")
    run("${prefix}/bin/leasehold" --help)
    foreach(file IN ITEMS
            share/man/man1/leasehold.1
            share/bash-completion/completions/leasehold
            share/zsh/site-functions/_leasehold
            share/fish/vendor_completions.d/leasehold.fish
            share/doc/leasehold/examples/leasehold.toml
            share/leasehold/grafana/leasehold.json
            share/leasehold/prometheus/leasehold.rules.yml
            lib/systemd/system/leasehold.service)
        if(NOT EXISTS "${prefix}/${file}")
            message(FATAL_ERROR "${file} was not installed")
        endif()
        file(SIZE "${prefix}/${file}" size)
        if(size EQUAL 0)
            message(FATAL_ERROR "${file} is empty")
        endif()
    endforeach()
    file(READ "${prefix}/lib/systemd/system/leasehold.service" unit)
    expect("${unit}" "ExecStart=${prefix}/bin/leasehold serve ")
    expect("${unit}" "\nProtectSystem=strict\n")
    run("${prefix}/bin/leasehold" serve --print-config
        --config "${prefix}/share/doc/leasehold/examples/leasehold.toml")
    expect("${output}" "sqlite:/var/lib/leasehold/leasehold.db")
    run(bash -n "${prefix}/share/bash-completion/completions/leasehold")
    find_program(analyze systemd-analyze)
    if(analyze)
        run("${analyze}" verify --man=no "${prefix}/lib/systemd/system/leasehold.service")
    endif()
endif()

foreach(file IN ITEMS leasehold.js leasehold-guard.js ticks.js leasehold.d.ts package.json README.md LICENSE)
    if(NOT EXISTS "${prefix}/share/leasehold/client/${file}")
        message(FATAL_ERROR "the browser client's ${file} was not installed")
    endif()
endforeach()
if(EXISTS "${prefix}/share/leasehold/client/demo.js" OR NOT EXISTS "${prefix}/share/doc/leasehold/LICENSE")
    message(FATAL_ERROR "the demo was installed, or the license was not")
endif()

# Without CMake: pkg-config says how to compile and link.
file(GLOB pc "${prefix}/lib*/pkgconfig" "${prefix}/lib/*/pkgconfig")
run("${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${pc}" pkg-config --cflags --libs leasehold)
separate_arguments(flags UNIX_COMMAND "-std=c++2b -DWITH_EVERYTHING ${FLAGS} ${consumer}/main.cpp ${output}")
file(MAKE_DIRECTORY "${WORK}/pkg-config")
run("${CMAKE_COMMAND}" -E chdir "${WORK}/pkg-config" "${COMPILER}" ${flags} -o consumer)
run("${CMAKE_COMMAND}" -E chdir "${WORK}/pkg-config" ./consumer)
foreach(store IN LISTS STORES)
    expect("${output}" "${store}: l")
endforeach()

use(everything "")
expect("${output}" "memory: locked and released")
expect("${output}" "sqlite: locked and released")
foreach(store IN LISTS STORES)
    expect("${output}" "${store}: l")
endforeach()

# The page's ways to use what was installed. A project that uses one store needs the driver of that store alone.
read_block("Installed, with CMake" cmake 1 lists)
project_of_the_page(installed "${lists}
    get_directory_property(targets IMPORTED_TARGETS)
    file(WRITE \${CMAKE_BINARY_DIR}/imported_targets.txt \"\${targets}\")\n")
read_block("Installed, with CMake" sh 2 commands)
shell(installed "${commands}")
expect("${output}" "locked Order/1")
file(READ "${WORK}/installed/build/imported_targets.txt" targets)
expect("${targets}" "leasehold::sqlite")
expect_no("${targets}" "leasehold::postgres")
expect_no("${targets}" "PostgreSQL::PostgreSQL")
expect_no("${targets}" "MariaDB::Client")
read_block("Installed, without CMake" sh 1 commands)
shell(installed "${commands}")
expect("${output}" "locked Order/1")
expect("${output}" "-lsqlite3")
expect_no("${output}" "-lpq")

# The application of docs/web-kit.md and its CMakeLists.txt, as they are printed there.
file(READ "${source}/docs/web-kit.md" page)
read_block("A complete application" cpp 1 program)
read_block("A complete application" cmake 1 lists)
file(WRITE "${WORK}/note/note.cpp" "${program}")
file(WRITE "${WORK}/note/CMakeLists.txt" "${lists}")
run("${CMAKE_COMMAND}" -S "${WORK}/note" -B "${WORK}/note/build" "-DCMAKE_PREFIX_PATH=${prefix}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}")
run("${CMAKE_COMMAND}" --build "${WORK}/note/build")
file(READ "${source}/docs/library.md" page)

# As a subproject, Leasehold changes nothing of the project, builds what the project links, and installs nothing.
set(watched CMAKE_CXX_STANDARD CMAKE_CXX_EXTENSIONS CMAKE_CXX_FLAGS CMAKE_BUILD_TYPE CMAKE_MODULE_PATH
    CMAKE_POSITION_INDEPENDENT_CODE CMAKE_EXPORT_COMPILE_COMMANDS CMAKE_INSTALL_RPATH BUILD_SHARED_LIBS BUILD_TESTING)
list(JOIN watched " " watched)
set(remember "
foreach(variable IN ITEMS ${watched})
    set(before_\${variable} \"\${\${variable}}\")
endforeach()\n")
set(compare "
foreach(variable IN ITEMS ${watched})
    if(NOT \"\${\${variable}}\" STREQUAL \"\${before_\${variable}}\")
        message(FATAL_ERROR \"\${variable} has become '\${\${variable}}'\")
    endif()
endforeach()
foreach(property IN ITEMS COMPILE_OPTIONS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES LINK_OPTIONS LINK_LIBRARIES)
    get_directory_property(value \${property})
    if(value)
        message(FATAL_ERROR \"the project's \${property} are '\${value}'\")
    endif()
endforeach()\n")
read_block("As a subproject" cmake 1 lists)
string(REPLACE "\n# The stores" "${remember}\n# The stores" lists "${lists}")
project_of_the_page(subproject "${lists}${compare}")
file(MAKE_DIRECTORY "${WORK}/subproject/third_party")
file(CREATE_LINK "${source}" "${WORK}/subproject/third_party/leasehold" SYMBOLIC)
read_block("As a subproject" sh 1 commands)
shell(subproject "${commands}" CXX=clang++-19 ${quick})
expect("${output}" "locked Order/1")
file(GLOB_RECURSE built RELATIVE "${WORK}/subproject/build" "${WORK}/subproject/build/*.a" "${WORK}/subproject/build/*.so*")
list(SORT built)
if(NOT built STREQUAL "third_party/leasehold/libleasehold_core.a;third_party/leasehold/libleasehold_sqlite.a")
    message(FATAL_ERROR "the subproject has built ${built}")
endif()
run("${CMAKE_COMMAND}" --install "${WORK}/subproject/build" --prefix "${WORK}/subproject/prefix")
if(EXISTS "${WORK}/subproject/prefix")
    message(FATAL_ERROR "the subproject has installed files:\n${output}")
endif()
run("${CMAKE_COMMAND}" --build "${WORK}/subproject/build" --target help)
foreach(target IN ITEMS leasehold_unit leasehold_server leasehold_command quickstart customers leasehold_compare)
    expect_no("${output}" "${target}:")
endforeach()

# With FetchContent, the same project; with all stores.
read_block("As a subproject" cmake 2 fetching)
string(REPLACE "add_subdirectory(third_party/leasehold)\n" "${fetching}" fetched "${lists}")
string(REGEX REPLACE "set\\(LEASEHOLD_[A-Z]+ OFF\\)\n" "" fetched "${fetched}")
expect("${fetched}" "FetchContent_MakeAvailable")
file(WRITE "${WORK}/subproject/CMakeLists.txt" "${fetched}${compare}")
string(REPLACE " build" " fetched" commands "${commands}")
string(REPLACE "\nbuild/" "\nfetched/" commands "${commands}")
shell(subproject "${commands}" CXX=clang++-19 ${quick})
expect("${output}" "locked Order/1")

# The same project with shared libraries: only linked again. Compiled by Clang, they are used by a program of any compiler.
file(WRITE "${WORK}/subproject/CMakeLists.txt" "${lists}${compare}")
set(shared_prefix "${WORK}/shared-prefix")
read_block("Shared libraries" sh 1 commands)
shell(subproject "${commands}" "PREFIX=${shared_prefix}" CXX=clang++-19 ${quick})
use(shared "sqlite" "${shared_prefix}")
expect("${output}" "sqlite: locked and released")
expect("${output}" "exceptions: caught")
file(READ "${WORK}/shared/imported_targets.txt" targets)
expect_no("${targets}" "SQLite::SQLite3")
run("${CMAKE_COMMAND}" -E env "PKG_CONFIG_PATH=${shared_prefix}/lib/pkgconfig" pkg-config --libs leasehold_sqlite)
expect("${output}" "-lleasehold_sqlite")
expect_no("${output}" "-lsqlite3")
file(GLOB libraries "${shared_prefix}/lib/*.so")
list(LENGTH libraries number)
if(NOT number EQUAL 4) # core, memory, sqlite and leasehold
    message(FATAL_ERROR "expected four shared libraries, got ${libraries}")
endif()
foreach(library IN LISTS libraries)
    cmake_path(GET library FILENAME name)
    run(readelf --dynamic --wide "${library}")
    string(REGEX MATCH "soname: \\[[^\n]*" soname "${output}")
    if(NOT soname MATCHES "\\[${name}\\.[0-9]+\\.[0-9]+\\]")
        message(FATAL_ERROR "${name} has the ${soname}")
    endif()
    expect("${output}" "[$ORIGIN]")
    expect_names_of_leasehold("${library}")
endforeach()
# The stores that were not built shared, above all those with Boost inside. shared_test.cmake builds and uses them.
file(GLOB archives "${prefix}/lib/*.a")
foreach(archive IN LISTS archives)
    run("${COMPILER}" -shared "-Wl,--version-script=${source}/cmake/leasehold.map"
        -Wl,--whole-archive "${archive}" -Wl,--no-whole-archive -o "${WORK}/linked.so")
    expect_names_of_leasehold("${WORK}/linked.so")
endforeach()

run("${CMAKE_CURRENT_LIST_DIR}/headers" "${prefix}/include")
message(STATUS "${output}")

# Component by component.
use(components "${STORES};http;memory;asio;web")
expect("${output}" "asio: locked")
expect("${output}" "web: answered")
expect("${output}" "http: linked")
foreach(store IN LISTS STORES)
    expect("${output}" "${store}: l")
endforeach()

# Linking open_store() without asking for it says what is missing.
configure(not-asked-for "sqlite")
execute_process(COMMAND ${command} -DLIBRARY=leasehold::leasehold
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0)
    message(FATAL_ERROR "leasehold::leasehold was found with COMPONENTS sqlite")
endif()
expect("${output}" "add_leasehold_to_COMPONENTS_of_find_package")

configure(missing "nosuch")
execute_process(COMMAND ${command} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(result EQUAL 0)
    message(FATAL_ERROR "the component 'nosuch' was found")
endif()
string(REGEX REPLACE "[ \n]+" " " output "${output}")
expect("${output}" "leasehold was built without the component 'nosuch'; it has: core")

# Nothing that was installed may know where it was built.
file(GLOB_RECURSE files "${prefix}/*.cmake" "${prefix}/*.hpp" "${prefix}/*.pc")
foreach(file IN LISTS files)
    file(READ "${file}" text)
    expect_no("${text}" "${source}")
    expect_no("${text}" "${BUILD}")
endforeach()
file(REMOVE_RECURSE "${WORK}")
