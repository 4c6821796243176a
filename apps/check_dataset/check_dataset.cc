// Checks the files of a data set. Downloads nothing.

#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/check_dataset/run.h"
#include "apps/paths.h"
#include "apps/run_program.h"
#include "apps/tool_flags.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

constexpr char kSummary[] =
    "check_dataset --dataset=NAME --dataset-path=PATH\n\n"
    "Says of each file of a data set whether it is there and right, and where to get it. "
    "Downloads\n"
    "nothing. Exit code 1 when something is missing or wrong.";

absl::Status Run(const std::vector<std::string>& arguments) {
  DTNN_RETURN_IF_ERROR(EnterUserDirectory());
  CheckOptions options;
  const ToolFlag flags[] = {
      {"dataset", &options.dataset,
       "mnist, cifar10, imagenet, chestxray, cyclone, tsunamis, archive, folder or synthetic"},
      {"dataset-path", &options.path, "where its files are, as the launcher takes it"},
      {"read", &options.read, "read every sample, and the checksums of files above 1 GiB"},
  };
  DTNN_ASSIGN_OR_RETURN(const bool help, ParseToolFlags(arguments, flags));
  if (help) {
    std::cout << ToolHelp(kSummary, flags);
    return absl::OkStatus();
  }
  return CheckDataset(options, std::cout);
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) {
  return dtnn::RunProgram("check_dataset", argc, argv, "a smaller part of the data needs less",
                          dtnn::Run);
}
