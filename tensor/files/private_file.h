// Files that hold a secret: a private key, or what the ranks of a job recognise each other by.

#ifndef DTNN_TENSOR_FILES_PRIVATE_FILE_H_
#define DTNN_TENSOR_FILES_PRIVATE_FILE_H_

#include <string_view>

#include "absl/status/status.h"

namespace dtnn {

// PermissionDenied where another user owns the file, or may read or change it, and says how to make
// it private; the errors of InputFile::Open() where it cannot be read.
absl::Status CheckPrivateFile(std::string_view path);

// Replaces the file atomically (atomic_file.h) by one that only its owner may read and change,
// whatever the old file allowed. Nobody else can open it at any moment.
absl::Status WritePrivateFile(std::string_view path, std::string_view text);

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_PRIVATE_FILE_H_
