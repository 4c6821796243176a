// Folders that options name are made, but not those above them: a path that is mistyped is to be an
// error, as it is for files.

#ifndef DTNN_TENSOR_FILES_MAKE_FOLDER_H_
#define DTNN_TENSOR_FILES_MAKE_FOLDER_H_

#include <string_view>

#include "absl/status/status.h"

namespace dtnn {

// OK where the folder is there already. An error begins with these words, and names the folder
// above that is missing.
absl::Status MakeFolder(std::string_view folder, std::string_view words);

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_MAKE_FOLDER_H_
