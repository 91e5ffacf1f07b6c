# A toolchain for tests that compile Leasehold again: each library as one file, without optimisation.
set(CMAKE_BUILD_TYPE Quick CACHE STRING "")
set(CMAKE_UNITY_BUILD ON)
set(CMAKE_UNITY_BUILD_BATCH_SIZE 0)
