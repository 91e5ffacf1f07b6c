# Finds MariaDB Connector/C and defines MariaDB::Client.
find_path(MariaDBClient_INCLUDE_DIR mysql.h PATH_SUFFIXES mariadb)
find_library(MariaDBClient_LIBRARY NAMES mariadb)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(MariaDBClient
    REQUIRED_VARS MariaDBClient_LIBRARY MariaDBClient_INCLUDE_DIR)
mark_as_advanced(MariaDBClient_INCLUDE_DIR MariaDBClient_LIBRARY)

if(MariaDBClient_FOUND AND NOT TARGET MariaDB::Client)
    add_library(MariaDB::Client UNKNOWN IMPORTED)
    set_target_properties(MariaDB::Client PROPERTIES
        IMPORTED_LOCATION "${MariaDBClient_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${MariaDBClient_INCLUDE_DIR}")
endif()
