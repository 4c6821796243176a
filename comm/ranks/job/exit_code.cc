#include "comm/ranks/job/exit_code.h"

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr char kExitCodeUrl[] = "dtnn/exit_code";

}  // namespace

absl::Status WithExitCode(absl::Status status, int exit_code) {
  status.SetPayload(kExitCodeUrl, absl::Cord(StrCat(exit_code)));
  return status;
}

absl::Status OfEnvironment(const absl::Status& status) {
  return absl::IsInvalidArgument(status) ? WithExitCode(status, kExitUsage) : status;
}

int ExitCodeOf(const absl::Status& status, int otherwise) {
  if (status.ok()) return kExitDone;
  const auto payload = status.GetPayload(kExitCodeUrl);
  int exit_code = otherwise;
  if (payload && !absl::SimpleAtoi(std::string(*payload), &exit_code)) return kExitFailed;
  return exit_code;
}

int ReportStatus(const absl::Status& status, std::string_view program, std::ostream& out) {
  if (!status.message().empty()) {
    const absl::string_view message = status.message();
    // In one piece: several ranks may write to one terminal.
    out << StrCat(program, ": ", OneLine(std::string_view(message.data(), message.size())), "\n")
        << std::flush;
  }
  return ExitCodeOf(status);
}

}  // namespace dtnn
