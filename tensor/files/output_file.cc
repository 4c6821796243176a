#include "tensor/files/output_file.h"

#include <span>
#include <string>

#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/input_file.h"

namespace dtnn {

absl::Status CheckOutputFile(std::string_view path, std::string_view kind, IsOfKind is_of_kind) {
  DTNN_RETURN_IF_ERROR(AtomicFile::Create(path).status());
  const absl::StatusOr<InputFile> file = InputFile::Open(path);
  if (absl::IsNotFound(file.status())) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(file.status());
  std::string start(kMostOfAStart, '\0');
  DTNN_ASSIGN_OR_RETURN(const size_t count,
                        file->ReadUpTo(0, std::as_writable_bytes(std::span(start))));
  start.resize(count);
  if (start.empty() || is_of_kind(start)) return absl::OkStatus();
  return FailedPrecondition(path, ": is not ", kind,
                            " written by DTNN, and would be overwritten; choose another name, or "
                            "delete the file");
}

}  // namespace dtnn
