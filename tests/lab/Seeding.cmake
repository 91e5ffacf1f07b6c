# Copies sources and puts bugs into the copies. Each bug is switched on at run time by its number.
#
# A bug attaches to a marker, a comment `// lab: NAME` in the source. A marker at the end of a line marks that line. A
# marker on a line of its own marks the code after it, up to and including the first line that ends in `;` or `{`. Marker
# names are unique within a store's folder, and within src/core.
#
#   read_sources(FILE ...)         reads files below SOURCES
#   bug(NAME WHERE)                begins a bug in the folder WHERE, or in one of its files
#   at(MARKER)                     chooses the marked code that the next commands change
#   insert_before(CODE)            puts code before or after it
#   insert_after(CODE)
#   swap(OLD NEW)                  replaces a part of it that occurs there exactly once
#   swap_sql(OLD NEW)              the same for SQL in a string; sent statements pass through lab::as_seeded()
#   write_copies()                 writes the copies and seeded_names.cpp below OUTPUT
#
# `BUG` in inserted or swapped-in code is the expression that tells whether this bug is on. The build fails where a marker is
# missing, occurs twice or is not used by any bug, and where the text to swap is not there.

cmake_minimum_required(VERSION 3.25)

function(get name)
    get_property(value GLOBAL PROPERTY seeding_${name})
    set(${name} "${value}" PARENT_SCOPE)
endfunction()

function(set_to name value)
    set_property(GLOBAL PROPERTY seeding_${name} "${value}")
endfunction()

function(read_sources)
    set_to(files "${ARGN}")
    set_to(count 0)
    set_to(names "")
    set_to(used "")
    foreach(file IN LISTS ARGN)
        file(READ "${SOURCES}/${file}" text)
        set_to("text_${file}" "${text}")
    endforeach()
endfunction()

function(bug name where)
    get(count)
    get(names)
    math(EXPR count "${count} + 1")
    set_to(count ${count})
    set_to(names "${names}    {\"${name}\", \"${where}\"},\n")
    at_folder("${where}")
endfunction()

# Sets the folder whose markers at() looks for.
function(at_folder where)
    string(REGEX REPLACE "/[^/]*pp$" "" folder "${where}")
    set_to(folder "${folder}")
endfunction()

function(at marker)
    get(files)
    get(folder)
    set(places)
    foreach(file IN LISTS files)
        string(FIND "${file}" "${folder}/" in_folder)
        if(in_folder EQUAL 0)
            get("text_${file}")
            string(FIND "${text_${file}}" "// lab: ${marker}\n" first)
            string(FIND "${text_${file}}" "// lab: ${marker}\n" last REVERSE)
            if(NOT first EQUAL -1)
                list(APPEND places "${file}")
            endif()
            if(NOT first EQUAL last)
                list(APPEND places "${file}")
            endif()
        endif()
    endforeach()
    list(LENGTH places found)
    if(NOT found EQUAL 1)
        message(FATAL_ERROR "the marker `// lab: ${marker}` must be in ${folder} once, and is there ${found} times")
    endif()
    set_to(file "${places}")
    set_to(marker "${marker}")
    get(used)
    set_to(used "${used};${places}:${marker}")
endfunction()

# Splits the text of the chosen file into what is before, in and after the marked code.
function(split)
    get(file)
    get(marker)
    get("text_${file}")
    set(text "${text_${file}}")
    string(FIND "${text}" "// lab: ${marker}\n" begin)
    string(SUBSTRING "${text}" 0 ${begin} head)
    string(FIND "${head}" "\n" line REVERSE)
    math(EXPR line "${line} + 1")
    string(SUBSTRING "${text}" ${line} -1 rest)
    string(SUBSTRING "${text}" 0 ${line} head)
    string(FIND "${rest}" "\n" end)
    string(SUBSTRING "${rest}" 0 ${end} first_line)
    string(STRIP "${first_line}" first_line)
    if(first_line STREQUAL "// lab: ${marker}")
        string(FIND "${rest}" ";\n" end)
        string(FIND "${rest}" "{\n" brace)
        if(end EQUAL -1 OR (brace GREATER -1 AND brace LESS end))
            set(end ${brace})
        endif()
        math(EXPR end "${end} + 1")
    endif()
    math(EXPR end "${end} + 1")
    string(SUBSTRING "${rest}" 0 ${end} marked)
    string(SUBSTRING "${rest}" ${end} -1 tail)
    set(head "${head}" PARENT_SCOPE)
    set(marked "${marked}" PARENT_SCOPE)
    set(tail "${tail}" PARENT_SCOPE)
endfunction()

function(replace_by head marked tail)
    get(file)
    get(count)
    string(REPLACE "BUG" "seeded(${count})" marked "${marked}")
    set_to("text_${file}" "${head}${marked}${tail}")
endfunction()

function(insert_before code)
    split()
    replace_by("${head}" "${code}\n${marked}" "${tail}")
endfunction()

function(insert_after code)
    split()
    replace_by("${head}" "${marked}${code}\n" "${tail}")
endfunction()

function(swap old new)
    split()
    get(marker)
    string(FIND "${marked}" "${old}" first)
    string(FIND "${marked}" "${old}" last REVERSE)
    if(first EQUAL -1 OR NOT first EQUAL last)
        message(FATAL_ERROR "`${old}` must be once in the code at the marker `// lab: ${marker}`, which is:\n${marked}")
    endif()
    if(old STREQUAL new)
        message(FATAL_ERROR "the bug at the marker `// lab: ${marker}` changes nothing")
    endif()
    string(REPLACE "${old}" "${new}" marked "${marked}")
    replace_by("${head}" "${marked}" "${tail}")
endfunction()

function(swap_sql old new)
    get(count)
    swap("${old}" "<<lab ${count}>>${old}<<or>>${new}<<end>>")
endfunction()

function(refuse_unused_markers)
    get(files)
    get(used)
    foreach(file IN LISTS files)
        file(STRINGS "${SOURCES}/${file}" lines REGEX "// lab: ")
        foreach(line IN LISTS lines)
            string(REGEX REPLACE "^.*// lab: " "" marker "${line}")
            if(NOT "${file}:${marker}" IN_LIST used)
                message(FATAL_ERROR "no seeded bug uses the marker `// lab: ${marker}` in ${file}")
            endif()
        endforeach()
    endforeach()
endfunction()

function(write_copies)
    refuse_unused_markers()
    get(files)
    get(names)
    foreach(file IN LISTS files)
        get("text_${file}")
        file(WRITE "${OUTPUT}/${file}" "#include \"lab/seeded.hpp\"\n${text_${file}}")
    endforeach()
    file(WRITE "${OUTPUT}/seeded_names.cpp" "#include \"lab/seeded.hpp\"

namespace leasehold::lab {

const std::vector<SeededBug> seeded_bugs{
${names}};

}  // namespace leasehold::lab
")
endfunction()
