// Lists folders: the only code that looks at paths and lists folders for data sets. Hidden names
// are never listed; lists are sorted by byte. Links are followed.
//
// A path that does not exist is NotFound; a path that cannot be accessed is PermissionDenied (or
// what else the system says). Errors begin with the path.

#ifndef DTNN_DATA_FILES_FOLDER_LISTING_H_
#define DTNN_DATA_FILES_FOLDER_LISTING_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn {

// Names that systems leave beside the user's own: those that begin with a dot, such as the "._x"
// that macOS adds to every file x of an archive, and "__MACOSX", the folder of these.
bool IsHiddenName(std::string_view name);

enum class PathKind : uint8_t { kNothing, kFile, kFolder };

// kFile: anything that exists and is not a folder.
absl::StatusOr<PathKind> LookAt(const std::string& path);
// NotFound or InvalidArgument unless it is a folder.
absl::Status CheckFolder(const std::string& path);

// The names of the folders in a folder, and of everything else in it.
absl::StatusOr<std::vector<std::string>> FoldersIn(const std::string& folder);
absl::StatusOr<std::vector<std::string>> FilesIn(const std::string& folder);

// Everything but folders, at any depth below a folder, as paths relative to it. Every folder counts
// once, however many links lead to it, so links that lead back end.
// `links`: set to true where a link was met, so that other folders may hold the same files; else as
// it is.
absl::StatusOr<std::vector<std::string>> FilesBelow(const std::string& folder,
                                                    bool* links = nullptr);

}  // namespace dtnn

#endif  // DTNN_DATA_FILES_FOLDER_LISTING_H_
