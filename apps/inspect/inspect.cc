// Tells what is in files of weights and in checkpoints.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/inspect/run.h"
#include "apps/paths.h"
#include "apps/run_program.h"
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
  return dtnn::RunProgram("inspect", argc, argv, "look at one file at a time", dtnn::Run);
}
