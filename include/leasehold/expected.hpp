#pragma once

// std::expected. libstdc++ hides it from Clang 17 and 18, which compile it but announce an older
// version of concepts.
#include <version>
#if defined(__clang__) && defined(__GLIBCXX__) && __cpp_concepts < 202002L
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wbuiltin-macro-redefined"
#pragma push_macro("__cpp_concepts")
#undef __cpp_concepts
#define __cpp_concepts 202002L
#include <expected>
#pragma pop_macro("__cpp_concepts")
#pragma clang diagnostic pop
#else
#include <expected>
#endif

#ifndef __cpp_lib_expected
#error \
    "Leasehold needs std::expected: compile with -std=c++23. With Clang 17 or 18, include <leasehold/...> before <expected>."
#endif
