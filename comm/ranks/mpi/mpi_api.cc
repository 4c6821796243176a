#include "comm/ranks/mpi/mpi_api.h"

#include <string>
#include <vector>

#include "tensor/errors.h"

namespace dtnn {

absl::Status MpiStatus(int code, const char* call) {
  if (code == MPI_SUCCESS) return absl::OkStatus();
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0, error_class = code;
  MPI_Error_string(code, text, &length);
  MPI_Error_class(code, &error_class);
  const std::string message = StrCat(call, " failed: ", text);
  if (error_class == MPI_ERR_TRUNCATE) {
    return InvalidArgument(message,
                           "; the ranks' calls differ in size (calls that are checked name both)");
  }
  return absl::UnavailableError(message);
}

absl::Status TestAll(std::span<MPI_Request> requests, const char* call, bool& all) {
  std::vector<MPI_Status> statuses(requests.size());
  int done = 0;
  int code = MPI_Testall(int(requests.size()), requests.data(), &done, statuses.data());
  all = code == MPI_SUCCESS && done != 0;
  if (code == MPI_ERR_IN_STATUS) {
    for (const MPI_Status& status : statuses) {
      if (status.MPI_ERROR == MPI_SUCCESS || status.MPI_ERROR == MPI_ERR_PENDING) continue;
      code = status.MPI_ERROR;
      break;
    }
  }
  return MpiStatus(code, call);
}

}  // namespace dtnn
