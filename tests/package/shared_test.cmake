# Builds every library as a shared one, and uses each from a project outside the tree. Takes minutes: part of `./test long`.
#   cmake -DWORK=<folder> -P shared_test.cmake
cmake_minimum_required(VERSION 3.25)
set(COMPILER g++-12)
set(FLAGS "")
set(prefix "${WORK}/prefix")
include("${CMAKE_CURRENT_LIST_DIR}/functions.cmake")
file(REMOVE_RECURSE "${WORK}")

run("${CMAKE_COMMAND}" -S "${source}" -B "${WORK}/build" -G Ninja "-DCMAKE_TOOLCHAIN_FILE=${CMAKE_CURRENT_LIST_DIR}/quick.cmake"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_INSTALL_PREFIX=${prefix}" -DBUILD_SHARED_LIBS=ON
    -DLEASEHOLD_SERVER=OFF -DLEASEHOLD_TESTS=OFF -DLEASEHOLD_EXAMPLES=OFF)
run("${CMAKE_COMMAND}" --build "${WORK}/build")
run("${CMAKE_COMMAND}" --install "${WORK}/build")

use(components "sqlite;postgres;mariadb;mysql;etcd;http;memory;asio;web")
foreach(said IN ITEMS "sqlite: locked" "exceptions: caught" "postgres: linked" "mariadb: linked" "mysql: linked"
        "etcd: linked" "http: linked" "asio: locked" "web: answered")
    expect("${output}" "${said}")
endforeach()
use(everything "")
foreach(said IN ITEMS "memory: locked" "sqlite: locked" "postgres: l" "mariadb: l" "mysql: l" "etcd: l" "http: l")
    expect("${output}" "${said}")
endforeach()
file(GLOB libraries "${prefix}/lib/*.so")
foreach(library IN LISTS libraries)
    expect_names_of_leasehold("${library}")
endforeach()
file(REMOVE_RECURSE "${WORK}")
