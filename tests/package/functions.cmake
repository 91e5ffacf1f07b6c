# What the tests here have in common. They set WORK, COMPILER, FLAGS and prefix, the folder with what is installed.
set(consumer "${CMAKE_CURRENT_LIST_DIR}/consumer")
get_filename_component(source "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

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

# configure(NAME COMPONENTS [PREFIX]): the command that configures the consumer in ${WORK}/NAME.
function(configure name components)
    list(JOIN components "," components)
    set(found_in "${prefix}" ${ARGN})
    list(GET found_in -1 found_in)
    set(command
        "${CMAKE_COMMAND}" -S "${consumer}" -B "${WORK}/${name}" "-DCMAKE_PREFIX_PATH=${found_in}"
        "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}"
        "-DCOMPONENTS=${components}" PARENT_SCOPE)
endfunction()

function(use name components)
    configure(${name} "${components}" ${ARGN})
    run(${command})
    run("${CMAKE_COMMAND}" --build "${WORK}/${name}")
    run("${CMAKE_COMMAND}" -E chdir "${WORK}/${name}" ./consumer)
    message(STATUS "${name}:\n${output}")
    set(output "${output}" PARENT_SCOPE)
endfunction()

# A shared library exports nothing but names of Leasehold, and std::hash for its types.
function(expect_names_of_leasehold library)
    run(nm --dynamic --defined-only --format=just-symbols "${library}")
    string(REGEX REPLACE "_Z(T[ISTV]|GV|T[hv][^_]*_([^_]*_)?)?Z?N[KRO]*9leasehold[^\n]*\n" "" names "${output}")
    if(names STREQUAL output)
        message(FATAL_ERROR "${library} exports no name of Leasehold")
    endif()
    string(REGEX REPLACE "_ZNKSt4hashIN9leasehold[^\n]*\n" "" names "${names}")
    if(NOT names STREQUAL "")
        message(FATAL_ERROR "${library} exports\n${names}")
    endif()
endfunction()
