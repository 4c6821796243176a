// Tells what is in files of weights and in checkpoints.

#include <algorithm>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/exit_code.h"
#include "apps/inspect/run.h"
#include "apps/paths.h"
#include "apps/tool_flags.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr char kSummary[] =
    "inspect [--format=json] FILE...\n\n"
    "Tells what is in files of weights (.npz, .safetensors) and in checkpoints. Exit code 1 when\n"
    "one of them cannot be read.";

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  std::string format = "text";
  std::vector<std::string> files;
  const ToolFlag flags[] = {{"format", &format, "text, or json: one object per line and file"}};
  DTNN_ASSIGN_OR_RETURN(const bool help, ParseToolFlags(arguments, flags, &files));
  if (help) {
    std::cout << ToolHelp(kSummary, flags);
    return absl::OkStatus();
  }
  return InspectFiles(files, format, std::cout, std::cerr);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  absl::Status status;
  try {
    status = dtnn::Run({argv + std::min(argc, 1), argv + argc});
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("no memory left");
  }
  std::cout.flush();
  return dtnn::ReportStatus(status, "inspect", std::cerr);
}
