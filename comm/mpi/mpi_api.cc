#include "comm/mpi/mpi_api.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "comm/mpi/call_guard.h"

namespace dtnn {

absl::Status MpiStatus(int code, const char* call) {
  if (code == MPI_SUCCESS) return absl::OkStatus();
  if (code == kMpiStuck) {
    return absl::UnavailableError(absl::StrCat(
        call, " did not return: MPI hangs, which it does when a rank is gone (dead or frozen)"));
  }
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0, error_class = code;
  MPI_Error_string(code, text, &length);
  MPI_Error_class(code, &error_class);
  const std::string message = absl::StrCat(call, " failed: ", text);
  if (error_class == MPI_ERR_TRUNCATE) {
    return absl::InvalidArgumentError(absl::StrCat(
        message, "; the sizes of ranks' calls differ, which checked calls would name"));
  }
  return absl::UnavailableError(message);
}

}  // namespace dtnn
