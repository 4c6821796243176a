#include "apps/program/paths.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "comm/ranks/job/exit_code.h"
#include "tensor/errors.h"

namespace dtnn {

absl::Status EnterUserDirectory() {
  const char* directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (!directory || !*directory || chdir(directory) == 0) return absl::OkStatus();
  return FailedPrecondition(
      OneLine(directory),
      ": cannot change to this directory, which BUILD_WORKING_DIRECTORY names: ",
      std::strerror(errno));
}

}  // namespace dtnn
