#include "apps/program/paths.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/ascii.h"
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

std::string ExpandRank(std::string_view path, int64_t rank) {
  constexpr std::string_view kBraced = "${rank}", kPlain = "$rank";
  const std::string number = std::to_string(rank);
  std::string expanded;
  while (!path.empty()) {
    const std::string_view after_plain = path.substr(std::min(kPlain.size(), path.size()));
    if (path.starts_with(kBraced)) {
      expanded += number;
      path.remove_prefix(kBraced.size());
    } else if (path.starts_with(kPlain) &&
               (after_plain.empty() ||
                (!absl::ascii_isalnum(after_plain[0]) && after_plain[0] != '_'))) {
      expanded += number;
      path.remove_prefix(kPlain.size());
    } else {
      expanded += path[0];
      path.remove_prefix(1);
    }
  }
  return expanded;
}

}  // namespace dtnn
