# Installs a build tree into a temporary prefix, and builds and runs a project against it.
#   cmake -DBUILD=<build tree> -DSTORES=sqlite,postgres,mariadb,mysql,etcd -DWORK=<folder> -DCOMPILER=<c++>
#         -DFLAGS=<its flags> -P package_test.cmake
cmake_minimum_required(VERSION 3.25)
string(REPLACE "," ";" STORES "${STORES}")
set(prefix "${WORK}/prefix")
set(consumer "${CMAKE_CURRENT_LIST_DIR}/consumer")
file(REMOVE_RECURSE "${WORK}")

function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT result EQUAL 0)
        list(JOIN ARGN " " command)
        message(FATAL_ERROR "${command} failed:\n${output}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect text part)
    string(FIND "${text}" "${part}" found)
    if(found EQUAL -1)
        message(FATAL_ERROR "expected '${part}' in:\n${text}")
    endif()
endfunction()

function(expect_no text part)
    string(FIND "${text}" "${part}" found)
    if(NOT found EQUAL -1)
        message(FATAL_ERROR "did not expect '${part}' in:\n${text}")
    endif()
endfunction()

# configure(NAME COMPONENTS): the command that configures the consumer in ${WORK}/NAME.
function(configure name components)
    list(JOIN components "," components)
    set(command
        "${CMAKE_COMMAND}" -S "${consumer}" -B "${WORK}/${name}" "-DCMAKE_PREFIX_PATH=${prefix}"
        "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}"
        "-DCOMPONENTS=${components}" PARENT_SCOPE)
endfunction()

function(use name components)
    configure(${name} "${components}")
    run(${command})
    run("${CMAKE_COMMAND}" --build "${WORK}/${name}")
    run("${CMAKE_COMMAND}" -E chdir "${WORK}/${name}" ./consumer)
    message(STATUS "${name}:\n${output}")
    set(output "${output}" PARENT_SCOPE)
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${prefix}")

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

use(all-stores "${STORES}")
foreach(store IN LISTS STORES)
    expect("${output}" "${store}: l")
endforeach()

# A project that uses one store needs the driver of that store alone.
use(only-sqlite "sqlite")
expect("${output}" "sqlite: locked and released")
file(READ "${WORK}/only-sqlite/imported_targets.txt" targets)
expect("${targets}" "leasehold::sqlite")
expect_no("${targets}" "leasehold::postgres")
expect_no("${targets}" "PostgreSQL::PostgreSQL")
expect_no("${targets}" "MariaDB::Client")

use(asio "memory;asio")
expect("${output}" "asio: locked")

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
get_filename_component(source "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)
foreach(file IN LISTS files)
    file(READ "${file}" text)
    expect_no("${text}" "${source}")
    expect_no("${text}" "${BUILD}")
endforeach()
file(REMOVE_RECURSE "${WORK}")
