// What a program may write its output over: nothing, an empty file, or an output of the same kind,
// recognised by how it begins. Any other file belongs to a user and stays. For programs, before
// they work: a run of hours must not find out at its end that its file cannot be written.

#ifndef DTNN_TENSOR_FILES_OUTPUT_FILE_H_
#define DTNN_TENSOR_FILES_OUTPUT_FILE_H_

#include <cstddef>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace dtnn {

inline constexpr size_t kMostOfAStart = size_t{1} << 16;

// Whether a file that begins with `start`, all of it or its first kMostOfAStart bytes, is of a
// kind.
using IsOfKind = absl::FunctionRef<bool(std::string_view start)>;

// `kind` as in "is not `kind`": "a history". FailedPrecondition for a file that is not of this
// kind, with what to do; for a path that cannot be written, as AtomicFile says. Nothing is changed.
absl::Status CheckOutputFile(std::string_view path, std::string_view kind, IsOfKind is_of_kind);

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_OUTPUT_FILE_H_
