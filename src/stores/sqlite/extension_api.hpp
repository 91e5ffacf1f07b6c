#pragma once

// The loadable extension is compiled from the store's own files. This header, included before
// everything else, makes them call the SQLite that loads the extension, which may be another copy
// than the one this build links.
#include <sqlite3ext.h>  // IWYU pragma: keep

SQLITE_EXTENSION_INIT3
