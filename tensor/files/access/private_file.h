// Files that hold a secret (a private key, or what the ranks of a job recognise each other by), or
// what nobody else may have written (a program).

#ifndef DTNN_TENSOR_FILES_ACCESS_PRIVATE_FILE_H_
#define DTNN_TENSOR_FILES_ACCESS_PRIVATE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace dtnn {

// PermissionDenied where another user owns the file, or may read or change it, and says how to make
// it private; the errors of InputFile::Open() where it cannot be read. For files that others open:
// what this program reads itself comes from ReadPrivateFile().
absl::Status CheckPrivateFile(std::string_view path);

// The bytes of the file that was checked so: it is opened once. FailedPrecondition for more than
// `max_bytes`, and for what is not a regular file.
absl::StatusOr<std::vector<std::byte>> ReadPrivateFile(std::string_view path, int64_t max_bytes);

// The same for a file that others may read, but neither own nor change: a list of public keys.
absl::StatusOr<std::vector<std::byte>> ReadGuardedFile(std::string_view path, int64_t max_bytes);

// PermissionDenied where another user owns the folder, or may put files there or take them away,
// and says what to do.
absl::Status CheckPrivateFolder(std::string_view path);

// Replaces the file atomically (atomic_file.h) by one that only its owner may read and change,
// whatever the old file allowed. Nobody else can open it at any moment.
absl::Status WritePrivateFile(std::string_view path, std::string_view text);

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_ACCESS_PRIVATE_FILE_H_
