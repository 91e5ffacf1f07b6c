# How bugs are put into copies of sources, each switched on by its number at run time: `seeded(N)` says whether bug N is on.
# A bug is a piece of text that stands there exactly once, and what stands there instead; one whose text is not found any
# more fails the build. SOURCES is the folder of the sources, OUTPUT that of the copies.

# read_sources(FILE ...): below SOURCES.
macro(read_sources)
    set(seeding_files ${ARGN})
    set(seeding_names)
    set(seeding_sql)
    foreach(file IN LISTS seeding_files)
        string(MAKE_C_IDENTIFIER "${file}" in)
        file(READ "${SOURCES}/${file}" text_${in})
    endforeach()
endmacro()

# Sets `in` to the one place with this text, in a file or in the files of a folder.
macro(find_once where text)
    set(in)
    foreach(file IN LISTS seeding_files)
        string(MAKE_C_IDENTIFIER "${file}" candidate)
        string(FIND "${file}" "${where}" at)
        string(FIND "${text_${candidate}}" "${text}" first)
        string(FIND "${text_${candidate}}" "${text}" last REVERSE)
        if(at EQUAL 0 AND NOT first EQUAL -1)
            list(APPEND in "${candidate}")
            if(NOT first EQUAL last)
                list(APPEND in "${candidate}")
            endif()
        endif()
    endforeach()
    list(LENGTH in places)
    if(NOT places EQUAL 1)
        message(FATAL_ERROR "this must stand in ${where} exactly once, and stands there ${places} times:\n${text}")
    endif()
endmacro()

macro(replace_once where before after)
    find_once("${where}" "${before}")
    string(REPLACE "${before}" "${after}" text_${in} "${text_${in}}")
endmacro()

macro(seed_bug number name where before after)
    replace_once("${where}" "${before}" "${after}")
    string(APPEND seeding_names "    {\"${name}\", \"${where}\"},\n")
endmacro()

# In the SQL that a store sends: see as_seeded(). Without a name it belongs to the bug before.
macro(seed_sql number name where before after)
    find_once("${where}" "${before}")
    string(APPEND seeding_sql "    {${number}, R\"~(${before})~\", R\"~(${after})~\"},\n")
    if(NOT "${name}" STREQUAL "")
        string(APPEND seeding_names "    {\"${name}\", \"${where}\"},\n")
    endif()
endmacro()

macro(write_copies)
    foreach(file IN LISTS seeding_files)
        string(MAKE_C_IDENTIFIER "${file}" in)
        file(WRITE "${OUTPUT}/${file}" "#include \"lab/seeded.hpp\"\n${text_${in}}")
    endforeach()
    file(WRITE "${OUTPUT}/seeded_names.cpp" "#include \"lab/seeded.hpp\"

namespace leasehold::lab {

const std::vector<SeededBug> seeded_bugs{
${seeding_names}};
const std::vector<SeededSql> seeded_sql{
${seeding_sql}};

}  // namespace leasehold::lab
")
endmacro()
